package catalog

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/headerparam"
	"github.com/mcptasks/mcptasks/internal/job"
	"github.com/mcptasks/mcptasks/internal/mcp/wire"
)

// Tool is a tool that can be called, as it is at one time.
type Tool struct {
	// Name is the tool's name for agents.
	Name string
	// Object is the MCPTool. It is shared, and must not be changed.
	Object *v1alpha1.MCPTool
	// Listing is the tool's entry in tools/list.
	Listing wire.Tool
	// Blueprint checks arguments and is what Jobs are made from.
	Blueprint *job.Blueprint
	// Params are the arguments that headers have to mirror.
	Params []headerparam.Param

	sum [sha256.Size]byte // of Listing
}

type compiled struct {
	// version is the object's resource version. The generation does not do: what is allowed depends on annotations, too, and these
	// do not change it.
	version string
	tool    *Tool
	problem string
}

// ready returns the tool behind an object, compiled once for each of its versions, or why it cannot be called.
func (c *Catalog) ready(name string, object *v1alpha1.MCPTool) (*Tool, error) {
	if problem := problem(object); problem != "" {
		return nil, &NotReadyError{Name: name, Problem: problem}
	}
	value, _ := c.compiled.Get(object.UID)
	if known, ok := value.(compiled); ok && known.version == object.ResourceVersion {
		return known.outcome(name)
	}
	result := compiled{version: object.ResourceVersion}
	tool, err := compile(object)
	if err != nil {
		result.problem = err.Error()
	}
	result.tool = tool
	c.compiled.Add(object.UID, result)
	return result.outcome(name)
}

func (c compiled) outcome(name string) (*Tool, error) {
	if c.problem != "" {
		return nil, &NotReadyError{Name: name, Problem: c.problem}
	}
	return c.tool, nil
}

// problem says why the controller does not let agents use the object as it is now; empty if it does.
func problem(object *v1alpha1.MCPTool) string {
	condition := meta.FindStatusCondition(object.Status.Conditions, v1alpha1.ConditionReady)
	switch {
	case condition == nil || object.Status.ObservedGeneration != object.Generation:
		return "it was created or changed a moment ago and has not been checked yet; try again soon"
	case condition.Status != metav1.ConditionTrue:
		return fmt.Sprintf("%s (%s)", condition.Message, condition.Reason)
	default:
		return ""
	}
}

func compile(object *v1alpha1.MCPTool) (*Tool, error) {
	input := json.RawMessage(job.InputSchema(object))
	blueprint, err := job.NewBlueprint(object)
	if err != nil {
		return nil, err
	}
	params, err := headerparam.Find(input)
	if err != nil {
		return nil, fmt.Errorf("inputSchema: %w", err)
	}
	listing := wire.Tool{
		Name:         Name(object),
		Title:        object.Spec.Title,
		Description:  object.Spec.Description,
		InputSchema:  input,
		OutputSchema: job.OutputSchema(object),
	}
	if object.Spec.Annotations != nil {
		listing.Annotations = object.Spec.Annotations
	}
	listed, err := wire.Marshal(listing)
	if err != nil {
		return nil, fmt.Errorf("it cannot be listed: %w", err)
	}
	return &Tool{
		Name: listing.Name, Object: object, Listing: listing, Blueprint: blueprint, Params: params, sum: sha256.Sum256(listed),
	}, nil
}

package job

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/expression"
	"github.com/mcptasks/mcptasks/internal/schema"
)

// varArguments is the variable of bindings' expressions.
const varArguments = "arguments"

// bindings are the compiled bindings of a tool.
type bindings struct {
	all       []binding
	arguments *expression.Shape
}

// A binding is a field of the Job and what it is computed by.
type binding struct {
	place
	value    *expression.Expression
	min, max resource.Quantity
	values   []string
}

// compileBindings compiles the bindings of a tool.
func compileBindings(tool *v1alpha1.MCPTool) (*bindings, error) {
	if len(tool.Spec.Bindings) == 0 {
		return &bindings{}, nil
	}
	arguments, err := expression.ObjectShape(InputSchema(tool), varArguments)
	if err != nil {
		return nil, &Problem{Reason: v1alpha1.ToolReasonInvalidSchema, Message: "spec.inputSchema: " + err.Error()}
	}
	env, err := expression.NewEnv(map[string]*expression.Shape{varArguments: arguments})
	if err != nil {
		return nil, err
	}
	compiled := &bindings{arguments: arguments}
	var mistakes field.ErrorList
	taken := map[string]bool{}
	for i := range tool.Spec.Bindings {
		declared, at := &tool.Spec.Bindings[i], field.NewPath("spec", "bindings").Index(i)
		b, mistake := compileBinding(declared, tool, env, at)
		switch {
		case mistake != nil:
			mistakes = append(mistakes, mistake)
		case taken[b.name]:
			mistakes = append(mistakes, field.Duplicate(at.Child("field"), declared.Field))
		default:
			taken[b.name] = true
			compiled.all = append(compiled.all, b)
		}
	}
	return compiled, problem(v1alpha1.ToolReasonInvalidBinding, mistakes)
}

func compileBinding(
	declared *v1alpha1.Binding, tool *v1alpha1.MCPTool, env *expression.Env, at *field.Path,
) (binding, *field.Error) {
	place, err := findPlace(declared.Field, tool)
	if err != nil {
		return binding{}, field.Invalid(at.Child("field"), shorten(declared.Field, 200), err.Error())
	}
	b := binding{place: place, values: declared.Values}
	if mistake := b.bound(declared, at); mistake != nil {
		return binding{}, mistake
	}
	if b.value, err = expression.Compile(env, declared.Value, b.kind.types()...); err != nil {
		return binding{}, field.Invalid(at.Child("value"), field.OmitValueType{}, err.Error())
	}
	return b, nil
}

// bound reads what the value may be. The author has to say: a schema cannot, for texts such as "4Gi".
func (b *binding) bound(declared *v1alpha1.Binding, at *field.Path) *field.Error {
	if b.kind == kindText {
		if len(declared.Values) == 0 || declared.Min != nil || declared.Max != nil {
			return field.Required(at.Child("values"), "the field holds a text: list all that it may be, without min and max")
		}
		return b.checkValues(at.Child("values"))
	}
	if declared.Max == nil || len(declared.Values) > 0 {
		return field.Required(at.Child("max"), "the field holds a number: say the most that a call may ask for, without values")
	}
	b.max = *declared.Max
	if b.kind == kindCount {
		b.min = *resource.NewQuantity(1, resource.DecimalSI)
	}
	if declared.Min != nil {
		if declared.Min.Cmp(b.min) < 0 {
			return field.Invalid(at.Child("min"), declared.Min.String(), "must be at least "+b.min.String())
		}
		b.min = *declared.Min
	}
	if b.max.Cmp(b.min) < 0 {
		return field.Invalid(at.Child("max"), b.max.String(), "must be at least "+b.min.String())
	}
	if b.kind == kindCount && b.max.CmpInt64(b.most) > 0 {
		return field.Invalid(at.Child("max"), b.max.String(), fmt.Sprintf("must be at most %d (%s)", b.most, b.mostIs))
	}
	return nil
}

func (b *binding) checkValues(at *field.Path) *field.Error {
	for i, value := range b.values {
		if strings.TrimSpace(value) == "" {
			return field.Invalid(at.Index(i), value, "must not be empty")
		}
		if strings.Contains(b.name, "nodeSelector") {
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				return field.Invalid(at.Index(i), value, strings.Join(problems, "; "))
			}
		}
	}
	return nil
}

// CheckBindings reports as a *Problem with the reason ToolReasonInvalidBinding that the bindings do not go with arguments, an
// example that fits the tool's inputSchema.
func (b *Blueprint) CheckBindings(arguments []byte) error {
	value, err := schema.Decode(arguments)
	if err == nil {
		rest, _ := b.input.Withhold(value)
		err = b.bindings.apply(b.tool.Spec.JobTemplate.Spec.DeepCopy(), rest)
	}
	if err != nil {
		return &Problem{
			Reason: v1alpha1.ToolReasonInvalidBinding, Message: "spec.bindings: with the example in inputSchema, " + err.Error(),
		}
	}
	return nil
}

// apply puts into a Job what the bindings make of a call's arguments, as schema.Decode returns them, without what is secret. The
// error says for the caller which field cannot have what value, and why.
func (b *bindings) apply(job *batchv1.JobSpec, arguments any) error {
	if len(b.all) == 0 {
		return nil
	}
	variables := map[string]any{varArguments: b.arguments.Value(arguments)}
	for i := range b.all {
		if err := b.all[i].apply(job, variables); err != nil {
			return fmt.Errorf("the tool puts a value that is computed from the arguments into the Job's %s: %w", b.all[i].name, err)
		}
	}
	for _, containers := range [][]corev1.Container{job.Template.Spec.InitContainers, job.Template.Spec.Containers} {
		for i := range containers {
			if err := checkAmounts(&containers[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// apply computes one value and puts it into a Job.
func (b *binding) apply(job *batchv1.JobSpec, variables map[string]any) error {
	value, err := b.value.Eval(variables)
	if err != nil {
		return fmt.Errorf("it cannot be computed: %w", err)
	}
	if b.kind == kindText {
		text, ok := value.(types.String)
		if !ok || !slices.Contains(b.values, string(text)) {
			return fmt.Errorf("it would be %s, which is not one of %s", show(value), strings.Join(b.values, ", "))
		}
		b.set(job, resource.Quantity{}, string(text))
		return nil
	}
	number, err := quantityOf(value)
	switch {
	case err != nil:
		return fmt.Errorf("it would be %s: %w", show(value), err)
	case number.Cmp(b.min) < 0:
		return fmt.Errorf("it would be %s; it must be at least %s", show(value), b.min.String())
	case number.Cmp(b.max) > 0:
		return fmt.Errorf("it would be %s; it must be at most %s", show(value), b.max.String())
	}
	b.set(job, number, "")
	return nil
}

// quantityOf is a number, or a text such as "500m" or "4Gi", as a quantity.
func quantityOf(value ref.Val) (resource.Quantity, error) {
	var text string
	switch value := value.(type) {
	case types.Int:
		text = strconv.FormatInt(int64(value), 10)
	case types.Uint:
		text = strconv.FormatUint(uint64(value), 10)
	case types.Double:
		text = strconv.FormatFloat(float64(value), 'f', -1, 64)
	case types.String:
		text = string(value)
	}
	// The longest that anybody writes; the library takes time and memory for the digits of longer ones.
	const longest = 64
	if text == "" || len(text) > longest {
		return resource.Quantity{}, errors.New("it is no quantity")
	}
	number, err := resource.ParseQuantity(text)
	if err != nil {
		return resource.Quantity{}, errors.New("it is no quantity, such as 2, 0.5, 500m or 4Gi")
	}
	return number, nil
}

// checkAmounts says where a container would ask for more than it may have, which the API server refuses.
func checkAmounts(c *corev1.Container) error {
	for _, name := range slices.Sorted(maps.Keys(c.Resources.Requests)) {
		request := c.Resources.Requests[name]
		if limit, limited := c.Resources.Limits[name]; limited && request.Cmp(limit) > 0 {
			return fmt.Errorf("the container %q would request %s of %s, which is more than its limit of %s",
				c.Name, request.String(), name, limit.String())
		}
	}
	return nil
}

// show is a value for a message.
func show(value ref.Val) string {
	if text, ok := value.(types.String); ok {
		return strconv.Quote(shorten(string(text), 100))
	}
	return shorten(fmt.Sprint(value.Value()), 100)
}

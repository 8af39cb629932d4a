package job

import (
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/schema"
)

// Arguments are the arguments of a call, split into what may be on the record and what may not.
type Arguments struct {
	// Public is the caller's JSON object, byte for byte where Secret is nil, else what is left of it.
	Public []byte
	// Secret is there where the call has values that the tool's inputSchema marks writeOnly.
	Secret *SecretArguments
}

// SecretArguments are what a call's Secret is made from.
type SecretArguments struct {
	// Document is the caller's JSON object, byte for byte.
	Document []byte
	// Variables are the environment variables that carry what is writeOnly, each with its value.
	Variables []SecretVariable
}

// A SecretVariable is an environment variable and its value, which no one expands.
type SecretVariable struct {
	Name, Value string
}

// Split reports as a *Problem with the reason Rejected why arguments, a JSON object, are not ones that the tool takes, or have no
// place in its Job; else it splits them. Build makes the same checks, as far as it sees the arguments; the endpoint makes them
// before there is a task.
func (b *Blueprint) Split(arguments []byte) (Arguments, error) {
	split, err := b.split(arguments)
	if err != nil {
		return Arguments{}, &Problem{Reason: v1alpha1.ReasonRejected, Message: err.Error()}
	}
	return split, nil
}

func (b *Blueprint) split(arguments []byte) (Arguments, error) {
	if err := checkSize(arguments); err != nil {
		return Arguments{}, err
	}
	if err := b.input.Validate(arguments); err != nil {
		return Arguments{}, err
	}
	value, err := schema.Decode(arguments)
	if err != nil {
		return Arguments{}, err
	}
	env, err := b.environ(value, nil, nil)
	if err != nil {
		return Arguments{}, err
	}
	rest, withheld := b.input.Withhold(value)
	if len(b.bindings.all) > 0 {
		if err := b.bindings.apply(b.tool.Spec.JobTemplate.Spec.DeepCopy(), rest); err != nil {
			return Arguments{}, err
		}
	}
	if !withheld {
		return Arguments{Public: arguments}, nil
	}
	public := encode(rest)
	if err := checkSize(public); err != nil {
		return Arguments{}, err
	}
	secret := &SecretArguments{Document: arguments}
	for _, v := range env.assigned {
		if v.writeOnly {
			secret.Variables = append(secret.Variables, SecretVariable{v.name, v.value})
		}
	}
	return Arguments{Public: public, Secret: secret}, nil
}

func checkSize(arguments []byte) error {
	if len(arguments) > v1alpha1.MaxArgumentsBytes {
		return fmt.Errorf("the arguments have %d bytes; at most %d are allowed", len(arguments), v1alpha1.MaxArgumentsBytes)
	}
	return nil
}

// validate checks the arguments on a task's record. What is secret is not among them; it was checked by the endpoint, against the
// tool as it was then.
func (b *Blueprint) validate(task *v1alpha1.MCPTask) error {
	arguments := []byte(task.Spec.Arguments)
	if err := checkSize(arguments); err != nil {
		return err
	}
	if task.Spec.SecretArguments == nil {
		if err := b.input.Validate(arguments); err != nil {
			return fmt.Errorf("the arguments do not fit its inputSchema: %w", err)
		}
		return nil
	}
	if !sameTool(b.tool, task) {
		return errors.New("whether its secret arguments still fit cannot be checked")
	}
	if err := b.input.ValidateRest(arguments); err != nil {
		return fmt.Errorf("the arguments do not fit its inputSchema: %w", err)
	}
	return nil
}

// SecretName is the name of the Secret of the task of that name: the same.
func SecretName(task string) string { return task }

// NewSecret is the Secret of a task that is on the record. It belongs to the task and never changes.
func NewSecret(task *v1alpha1.MCPTask, arguments *SecretArguments) *corev1.Secret {
	owner := metav1.OwnerReference{
		APIVersion: v1alpha1.GroupVersion.String(), Kind: "MCPTask", Name: task.Name, UID: task.UID,
	}
	immutable := true
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:            SecretName(task.Name),
			Namespace:       task.Namespace,
			Labels:          map[string]string{v1alpha1.LabelTask: task.Name, v1alpha1.LabelTool: task.Spec.Tool.Name},
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Type:      v1alpha1.SecretTypeArguments,
		Immutable: &immutable,
		Data:      map[string][]byte{argumentsFileName: arguments.Document},
	}
	for _, v := range arguments.Variables {
		secret.Data[v.Name] = []byte(v.Value)
	}
	return secret
}

// fromSecret is a variable that is read from the task's Secret. Without its entry the container does not start.
func fromSecret(name string, task *v1alpha1.MCPTask) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: SecretName(task.Name)}, Key: name,
	}}}
}

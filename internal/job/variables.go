package job

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/question"
	"github.com/mcptasks/mcptasks/internal/schema"
)

// VariablePrefix begins the names of the environment variables that carry arguments. Templates may not set such variables, nor
// those of answers, which begin with question.EnvPrefix.
const VariablePrefix = "MCP_ARG_"

// reserved reports whether a variable of that name carries an argument or an answer, or would.
func reserved(name string) bool {
	return strings.HasPrefix(name, VariablePrefix) || strings.HasPrefix(name, question.EnvPrefix)
}

// Limits on arguments in the environment; what exceeds them is in the file only.
const (
	// maxVariables is how many scalar properties a tool may declare.
	maxVariables = 256
	// maxPropertyName is how long the name of a scalar property may be, in bytes.
	maxPropertyName = 128
	// maxValue is how long a value may be, in bytes. Linux takes 128 KiB for a variable or an argument with all that stands
	// around it; this leaves as much for the latter.
	maxValue = 64 << 10
	// maxEnvironment is how much the variables of all containers of a pod may take together, in bytes. The Job must stay far
	// below the 1.5 MiB that etcd accepts.
	maxEnvironment = 512 << 10
)

// A variable is the environment variable of one declared scalar property: of the arguments, or of the answer to a question.
type variable struct {
	name     string
	property schema.Property
	// question is the key of the question; "" for arguments.
	question string
	// writeOnly: the value must not be on the record.
	writeOnly bool
}

// what names the property, for a message.
func (v variable) what() string {
	if v.question != "" {
		return fmt.Sprintf("the property %q of the answer to %q", v.property.Name, v.question)
	}
	return fmt.Sprintf("the property %q", v.property.Name)
}

// at is where the property's value is, for a message.
func (v variable) at() string {
	if v.question != "" {
		return fmt.Sprintf("the answer to %q: /%s", v.question, v.property.Name)
	}
	return "/" + v.property.Name
}

// inputs are what a call brings for its container: arguments, and the contents of accepted answers by question, as schema.Decode
// returns them.
type inputs struct {
	arguments map[string]any
	// secret are the variables whose values are in the task's Secret, and empty here.
	secret  []string
	answers map[string]map[string]any
}

// value is what v is made of. Only arguments have defaults: what was not answered must not look as if it had been.
func (in inputs) value(v variable) any {
	if slices.Contains(in.secret, v.name) {
		return nil
	}
	if v.question != "" {
		return in.answers[v.question][v.property.Name]
	}
	if value, ok := in.arguments[v.property.Name]; ok {
		return value
	}
	return v.property.Default
}

// answerVariables are the environment variables of a tool's questions.
func answerVariables(questions *question.Set) []variable {
	var all []variable
	for _, f := range questions.Fields() {
		if f.Property.Scalar() {
			all = append(all, variable{name: question.EnvName(f.Key, f.Property.Name), property: f.Property, question: f.Key})
		}
	}
	return all
}

// variables are the environment variables that a schema declares, in a stable order. The error says which properties have no
// usable name.
func variables(s *schema.Schema) ([]variable, error) {
	var all []variable
	var problems []error
	taken := map[string]string{}
	for _, p := range s.Properties() {
		if !p.Scalar() {
			continue
		}
		name, err := variableName(p.Name)
		if err != nil {
			problems = append(problems, err)
			continue
		}
		if other, ok := taken[name]; ok {
			problems = append(problems, fmt.Errorf("the properties %q and %q would both become the environment variable %s; rename one",
				other, p.Name, name))
			continue
		}
		taken[name] = p.Name
		all = append(all, variable{name: name, property: p, writeOnly: s.Withholds(p.Name)})
	}
	if len(all) > maxVariables {
		problems = append(problems, fmt.Errorf("%d scalar properties are declared; at most %d are allowed", len(all), maxVariables))
	}
	return all, errors.Join(problems...)
}

// variableName is the name of the environment variable of a property: MCP_ARG_ and the name in capitals, with "_" for "-" and
// ".".
func variableName(property string) (string, error) {
	name := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z':
			return r - 'a' + 'A'
		case r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_':
			return r
		case r == '-', r == '.':
			return '_'
		default:
			return -1
		}
	}, property)
	if len(name) != len(property) || name == "" || len(name) > maxPropertyName {
		return "", fmt.Errorf("the property %q cannot become an environment variable: the name of a scalar property must have 1 to %d "+
			`of the characters A-Z, a-z, 0-9, "_", "-" and "."`, shorten(property, 100), maxPropertyName)
	}
	return VariablePrefix + name, nil
}

// An environment is the variables of one call.
type environment struct {
	// assigned are what the environment of every container begins with.
	assigned []assignment
	// omitted are the variables that the environment cannot hold, with the reason.
	omitted map[string]string
}

// An assignment is a variable and its value.
type assignment struct {
	variable
	value string
}

// environ makes the environment of a call for pods with that many containers. A property that the arguments leave out has its
// default, or else the empty string, as null has: left unset, $(MCP_ARG_X) would reach the program as those very characters.
func environ(variables []variable, in inputs, containers int) environment {
	env := environment{omitted: map[string]string{}}
	var all []assignment
	for _, v := range variables {
		value := valueText(in.value(v), v.property.Type == "integer")
		switch {
		case strings.ContainsRune(value, 0):
			env.omitted[v.name] = "it contains a NUL character"
		case len(value) > maxValue:
			env.omitted[v.name] = fmt.Sprintf("it has %d bytes, more than the %d that fit there", len(value), maxValue)
		default:
			all = append(all, assignment{v, value})
		}
	}

	// The shortest values come first, so that one long value does not displace many short ones.
	slices.SortStableFunc(all, func(a, b assignment) int { return len(a.escaped()) - len(b.escaped()) })
	room := maxEnvironment / max(containers, 1)
	fits := map[string]assignment{}
	for _, a := range all {
		room -= len(a.name) + len(a.escaped())
		if room < 0 {
			env.omitted[a.name] = "the arguments and answers together are too long"
			continue
		}
		fits[a.name] = a
	}
	for _, v := range variables {
		if a, ok := fits[v.name]; ok {
			env.assigned = append(env.assigned, a)
		}
	}
	return env
}

// escaped is the value as it has to stand in a Job. Doubled, a $ stands for itself: a caller's $(DB_PASSWORD) stays what it is.
func (a assignment) escaped() string { return strings.ReplaceAll(a.value, "$", "$$") }

// vars are the environment as it has to stand in the task's Job. With secret arguments, what is writeOnly comes from the task's
// Secret, as far as the environment can hold it.
func (env environment) vars(task *v1alpha1.MCPTask) []corev1.EnvVar {
	var all []corev1.EnvVar
	for _, a := range env.assigned {
		switch secret := task.Spec.SecretArguments; {
		case secret == nil || !a.writeOnly:
			all = append(all, corev1.EnvVar{Name: a.name, Value: a.escaped()})
		case slices.Contains(secret.Variables, a.name):
			all = append(all, fromSecret(a.name, task))
		}
	}
	return all
}

// valueText is the text of a scalar, as schema.Decode returns it, in the environment: a string itself, a number as the caller
// wrote it, and nothing for null. Integers lose a point and an exponent, which programs that expect integers do not read.
func valueText(value any, integer bool) string {
	switch value := value.(type) {
	case string:
		return value
	case bool:
		return strconv.FormatBool(value)
	case json.Number:
		text := value.String()
		if !integer || !strings.ContainsAny(text, ".eE") {
			return text
		}
		if r, ok := new(big.Rat).SetString(text); ok && r.IsInt() {
			return r.Num().String()
		}
		return text
	default:
		return ""
	}
}

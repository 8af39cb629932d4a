package question

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/cel-go/cel"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/expression"
	"github.com/mcptasks/mcptasks/internal/schema"
)

// The variables of expressions.
const (
	varArguments = "arguments"
	varAnswers   = "answers"
	varAnswer    = "answer"
)

// DefaultDeadline is how long a question may stay unanswered where the tool does not say.
const DefaultDeadline = 24 * time.Hour

// maxForms is the most that the schemas of all questions of a tool may take together, in bytes: they are on the record of each
// task that asks them.
const maxForms = 64 << 10

// Set is the compiled questions of one tool. It does not change and is safe for concurrent use; keep it as long as the tool's
// generation is the same, for compiling takes milliseconds.
type Set struct {
	// questions are in the tool's order, order are their indexes such that each comes after those that it depends on.
	questions []*compiled
	order     []int
	arguments *expression.Shape
	// answers are the shapes of the contents of accepted answers, by key.
	answers map[string]*expression.Shape
}

// compiled is one question.
type compiled struct {
	key      string
	ask      v1alpha1.QuestionAsk
	deadline time.Duration
	form     *form
	// when and proceedIf are nil where they are always true.
	when, message, proceedIf *expression.Expression
	// askedAfter are the questions that must be out of the way before this one is asked, judgedAfter those that must be before its
	// answer is judged by proceedIf; by key, without itself.
	askedAfter, judgedAfter []string
}

// Error is something wrong with a question: in what the tool declares, when Compile returns it, or with the arguments of a call
// that an expression cannot be evaluated for, when Plan does. Its text is meant for the tool's author.
type Error struct {
	// Key is the question's key.
	Key string
	// Field is the field of v1alpha1.ToolQuestion, by its JSON name, or "".
	Field string
	// Err says what is wrong.
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Field == "" {
		return fmt.Sprintf("question %q: %v", clip(e.Key, 63), e.Err)
	}
	return fmt.Sprintf("question %q: %s: %v", clip(e.Key, 63), e.Field, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Compile compiles the questions of a tool whose calls have arguments that fit inputSchema, a JSON Schema with type object, or
// empty where the tool has none. It checks everything that can be known before a call: types, the forms, which question depends
// on which. The error is an *Error about the first question that is wrong, or, about all of them, of another type.
func Compile(questions []v1alpha1.ToolQuestion, inputSchema []byte) (*Set, error) {
	if len(questions) > v1alpha1.MaxToolQuestions {
		return nil, fmt.Errorf("there are %d questions; at most %d are allowed", len(questions), v1alpha1.MaxToolQuestions)
	}
	arguments, err := expression.ObjectShape(inputSchema, varArguments)
	if err != nil {
		return nil, fmt.Errorf("inputSchema: %w", err)
	}
	set := &Set{arguments: arguments, answers: map[string]*expression.Shape{}}
	forms := 0
	for i := range questions {
		c, err := set.declare(&questions[i])
		if err != nil {
			return nil, err
		}
		set.questions = append(set.questions, c)
		forms += len(c.form.doc)
	}
	if forms > maxForms {
		return nil, fmt.Errorf("their schemas have %d bytes together; at most %d are allowed", forms, maxForms)
	}
	if err := set.checkEnvNames(); err != nil {
		return nil, err
	}
	for i := range questions {
		if err := set.compile(set.questions[i], &questions[i]); err != nil {
			return nil, err
		}
	}
	return set, set.sort()
}

// declare reads of a question what other questions may refer to.
func (s *Set) declare(q *v1alpha1.ToolQuestion) (*compiled, error) {
	if !validKey(q.Key) {
		return nil, &Error{Key: q.Key, Field: "key",
			Err: fmt.Errorf(`it must be a letter, then letters, digits and "_", at most 63 characters in all`)}
	}
	if _, twice := s.answers[q.Key]; twice {
		return nil, &Error{Key: q.Key, Field: "key", Err: fmt.Errorf("another question of this tool has the same key")}
	}
	c := &compiled{key: q.Key, ask: q.Ask, deadline: DefaultDeadline}
	if c.ask == "" {
		c.ask = v1alpha1.AskTask
	}
	if c.ask != v1alpha1.AskTask && c.ask != v1alpha1.AskCall {
		return nil, &Error{Key: q.Key, Field: "ask", Err: fmt.Errorf("it must be Task or Call, not %q", clip(string(q.Ask), 40))}
	}
	if q.Deadline != nil {
		c.deadline = q.Deadline.Duration
	}
	var doc []byte
	if q.Schema != nil {
		doc = q.Schema.Raw
	}
	var err error
	if c.form, err = newForm(doc); err != nil {
		return nil, &Error{Key: q.Key, Field: "schema", Err: err}
	}
	answer, err := expression.ObjectShape([]byte(c.form.doc), varAnswers+"."+q.Key)
	if err != nil {
		return nil, &Error{Key: q.Key, Field: "schema", Err: err}
	}
	s.answers[q.Key] = answer
	return c, nil
}

// checkEnvNames sees to it that each property of an answer has an environment variable of its own.
func (s *Set) checkEnvNames() error {
	taken := map[string]string{}
	for _, c := range s.questions {
		for _, property := range c.form.fields {
			name, what := EnvName(c.key, property), fmt.Sprintf("%q of question %q", property, c.key)
			if other, ok := taken[name]; ok {
				return &Error{Key: c.key, Field: "schema",
					Err: fmt.Errorf("the property %s would have the environment variable %s, as the property %s has", what, name, other)}
			}
			taken[name] = what
		}
	}
	return nil
}

// compile compiles the expressions of one question, when all of them are declared.
func (s *Set) compile(c *compiled, q *v1alpha1.ToolQuestion) error {
	answers := expression.StructShape(varAnswers, s.answers)
	before, err := expression.NewEnv(map[string]*expression.Shape{varArguments: s.arguments, varAnswers: answers})
	if err != nil {
		return err
	}
	after, err := expression.NewEnv(map[string]*expression.Shape{
		varArguments: s.arguments, varAnswers: answers, varAnswer: s.answers[c.key],
	})
	if err != nil {
		return err
	}
	for _, e := range []struct {
		field, source string
		env           *expression.Env
		want          *cel.Type
		into          **expression.Expression
		after         *[]string
	}{
		{"when", q.When, before, cel.BoolType, &c.when, &c.askedAfter},
		{"message", q.Message, before, cel.StringType, &c.message, &c.askedAfter},
		{"proceedIf", q.ProceedIf, after, cel.BoolType, &c.proceedIf, &c.judgedAfter},
	} {
		if e.source == "" && e.field != "message" {
			continue
		}
		compiled, err := expression.Compile(e.env, e.source, e.want)
		if err != nil {
			return &Error{Key: c.key, Field: e.field, Err: err}
		}
		dependsOn, err := answersRead(compiled.AST())
		if err != nil {
			return &Error{Key: c.key, Field: e.field, Err: fmt.Errorf("%w, in the expression %s", err, clip(e.source, 200))}
		}
		*e.into = compiled
		for _, key := range dependsOn {
			if err := s.mayDependOn(c, key, e.field == "proceedIf"); err != nil {
				return &Error{Key: c.key, Field: e.field, Err: err}
			}
			if key != c.key && !slices.Contains(*e.after, key) {
				*e.after = append(*e.after, key)
			}
		}
	}
	return nil
}

// mayDependOn checks one use of another question's answer.
func (s *Set) mayDependOn(c *compiled, key string, judging bool) error {
	if key == c.key {
		if judging {
			return nil
		}
		return fmt.Errorf("a question cannot depend on its own answer")
	}
	other := s.byKey(key)
	if other == nil {
		// The type checker lets this pass where a macro's variable is called answers.
		return fmt.Errorf("there is no question %q", clip(key, 63))
	}
	if other.ask == v1alpha1.AskTask && c.ask == v1alpha1.AskCall {
		return fmt.Errorf("the question %q is asked later, with ask: Task, than this one, with ask: Call", key)
	}
	return nil
}

func (s *Set) byKey(key string) *compiled {
	i := slices.IndexFunc(s.questions, func(c *compiled) bool { return c.key == key })
	if i < 0 {
		return nil
	}
	return s.questions[i]
}

// sort finds the order in which questions can be asked, and keeps the tool's where it is free to.
func (s *Set) sort() error {
	placed := map[string]bool{}
	for len(s.order) < len(s.questions) {
		next := slices.IndexFunc(s.questions, func(c *compiled) bool { return !placed[c.key] && all(c.askedAfter, placed) })
		if next < 0 {
			return s.cycle(placed)
		}
		placed[s.questions[next].key] = true
		s.order = append(s.order, next)
	}
	return nil
}

// cycle names the questions that wait for each other, given those that wait for none of them.
func (s *Set) cycle(placed map[string]bool) error {
	waiting := func(key string) bool { return !placed[key] }
	i := slices.IndexFunc(s.questions, func(c *compiled) bool { return waiting(c.key) })
	// Every question that is left waits for another one that is left: going on long enough leads into the circle.
	at := s.questions[i]
	var path []string
	for !slices.Contains(path, at.key) {
		path = append(path, at.key)
		at = s.byKey(at.askedAfter[slices.IndexFunc(at.askedAfter, waiting)])
	}
	circle := append(slices.Clone(path[slices.Index(path, at.key):]), at.key)
	return &Error{Key: at.key, Err: fmt.Errorf("questions depend on each other in a circle: %s", strings.Join(circle, " → "))}
}

// Empty reports whether the tool has no questions.
func (s *Set) Empty() bool { return len(s.questions) == 0 }

// A Field is one property of a question's form.
type Field struct {
	// Key is the question's key.
	Key string
	// Property is the property.
	Property schema.Property
}

// Fields are the properties of the forms of all questions, in a stable order.
func (s *Set) Fields() []Field {
	var all []Field
	for _, c := range s.questions {
		for _, p := range c.form.schema.Properties() {
			all = append(all, Field{Key: c.key, Property: p})
		}
	}
	return all
}

// Asks reports where the question of that key is asked; "" where there is none.
func (s *Set) Asks(key string) v1alpha1.QuestionAsk {
	if c := s.byKey(key); c != nil {
		return c.ask
	}
	return ""
}

// Deadline is the longest that all questions with ask: Task together may keep a task waiting: those that depend on each other
// are asked one after the other, the others at the same time. 0 without such questions.
func (s *Set) Deadline() time.Duration {
	var longest time.Duration
	until := map[string]time.Duration{}
	for _, i := range s.order {
		c := s.questions[i]
		if c.ask != v1alpha1.AskTask {
			continue
		}
		for _, key := range c.askedAfter {
			until[c.key] = max(until[c.key], until[key])
		}
		until[c.key] += c.deadline
		longest = max(longest, until[c.key])
	}
	return longest
}

// all reports whether each of keys is in set.
func all(keys []string, set map[string]bool) bool {
	return !slices.ContainsFunc(keys, func(key string) bool { return !set[key] })
}

// validKey is the API's rule for keys.
func validKey(key string) bool {
	if key == "" || len(key) > 63 {
		return false
	}
	for i, r := range key {
		letter := r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z'
		if !letter && (i == 0 || r != '_' && (r < '0' || r > '9')) {
			return false
		}
	}
	return true
}

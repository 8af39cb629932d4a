package job

import (
	"fmt"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/schema"
)

// MaxPods is how many completions a tool's Job may have, and how many pods at a time: the output of each is read and joined, and
// all of them have to find room in one result.
const MaxPods = 1000

// resultsProperty is the member of a structured result that has what the pods of a Job printed.
const resultsProperty = "results"

// Several reports whether a Job is the work of several pods, apart from retries: an Indexed Job, one with another number of
// completions than one, or a work queue, which has workers instead of completions.
func Several(spec *batchv1.JobSpec) bool {
	switch {
	case Indexed(spec):
		return true
	case spec.Completions != nil:
		return *spec.Completions != 1
	default:
		return spec.Parallelism != nil && *spec.Parallelism != 1
	}
}

// Indexed reports whether the pods of a Job have completion indexes.
func Indexed(spec *batchv1.JobSpec) bool {
	return spec.CompletionMode != nil && *spec.CompletionMode == batchv1.IndexedCompletion
}

// checkPods checks how many pods a Job may have.
func checkPods(spec *batchv1.JobSpec, at *field.Path) field.ErrorList {
	var all field.ErrorList
	atMost := func(name string, count *int32) {
		if count != nil && *count > MaxPods {
			all = append(all, field.Invalid(at.Child(name), *count, fmt.Sprintf(
				"at most %d: the output of every pod is read and joined to one result; let each pod do more of the work", MaxPods)))
		}
	}
	atMost("completions", spec.Completions)
	atMost("parallelism", spec.Parallelism)
	if spec.Parallelism != nil && *spec.Parallelism == 0 {
		all = append(all, field.Invalid(at.Child("parallelism"), 0, "a Job without parallelism never starts a pod"))
	}
	return all
}

// checkRetries refuses two words about retries at once.
func checkRetries(tool *v1alpha1.MCPTool) field.ErrorList {
	if tool.Spec.JobTemplate.Spec.BackoffLimitPerIndex == nil || tool.Spec.Execution.Retries == 0 {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", "execution", "retries"),
		"the template's backoffLimitPerIndex says how often each index is retried; leave out one of the two")}
}

// checkJoinedOutput checks that an outputSchema says what callers get of several pods.
func checkJoinedOutput(tool *v1alpha1.MCPTool, output *schema.Schema) error {
	if !Several(&tool.Spec.JobTemplate.Spec) {
		return nil
	}
	for _, p := range output.Properties() {
		if p.Name == resultsProperty && p.Type == "array" {
			return nil
		}
	}
	return fmt.Errorf(`the Job has several pods, so that its structured result is {"%[1]s": […]} with one entry for each index or `+
		`pod; declare the property %[1]q with type array`, resultsProperty)
}

// ownSeveral sets what a Job with several pods has beside what every Job has. Its error says what there are too many of.
func ownSeveral(job *batchv1.Job, execution v1alpha1.Execution) error {
	spec := &job.Spec
	if !Several(spec) {
		return nil
	}
	if err := checkPods(spec, field.NewPath("spec")).ToAggregate(); err != nil {
		return err
	}
	// The template's word on retries holds; no total is counted beside it.
	if spec.BackoffLimitPerIndex != nil {
		spec.BackoffLimit = nil
	}
	spec.Template.Labels = with(spec.Template.Labels, map[string]string{v1alpha1.LabelSeveral: "true"})
	// The pods' own deadlines do not limit how many of them follow each other.
	if each := spec.Template.Spec.ActiveDeadlineSeconds; each != nil {
		spec.ActiveDeadlineSeconds = seconds(execution.StartupDeadline.Duration + time.Duration(*each)*time.Second)
	}
	return nil
}

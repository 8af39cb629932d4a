package job

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func TestSeveral(t *testing.T) {
	spec := func(completions, parallelism *int32, mode *batchv1.CompletionMode) batchv1.JobSpec {
		return batchv1.JobSpec{Completions: completions, Parallelism: parallelism, CompletionMode: mode}
	}
	for _, tt := range []struct {
		name string
		spec batchv1.JobSpec
		want bool
	}{
		{"nothing said", spec(nil, nil, nil), false},
		{"one of one", spec(ptr(int32(1)), ptr(int32(1)), ptr(batchv1.NonIndexedCompletion)), false},
		{"one completion has one pod, whatever the parallelism", spec(ptr(int32(1)), ptr(int32(5)), nil), false},
		{"one worker", spec(nil, ptr(int32(1)), nil), false},
		{"workers", spec(nil, ptr(int32(2)), nil), true},
		{"completions one by one", spec(ptr(int32(2)), nil, nil), true},
		{"no completions", spec(ptr(int32(0)), nil, nil), true},
		{"one index", spec(ptr(int32(1)), ptr(int32(1)), ptr(batchv1.IndexedCompletion)), true},
	} {
		if got := Several(&tt.spec); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.name, got, tt.want)
		}
	}
}

func TestBuildSeveral(t *testing.T) {
	indexed := func(s *batchv1.JobSpec) {
		s.CompletionMode, s.Completions, s.Parallelism = ptr(batchv1.IndexedCompletion), ptr(int32(5)), ptr(int32(3))
	}
	task := aTask().change(func(s *v1alpha1.MCPTaskSpec) {
		s.Execution.StartupDeadline.Duration, s.Execution.Retries = 10*time.Minute, 2
	})
	job, err := Build(aTool().job(indexed).obj(), task.obj())
	if err != nil {
		t.Fatal(err)
	}
	spec := job.Spec
	if *spec.Completions != 5 || *spec.Parallelism != 3 || *spec.BackoffLimit != 2 {
		t.Errorf("completions %d, parallelism %d, backoffLimit %d", *spec.Completions, *spec.Parallelism, *spec.BackoffLimit)
	}
	if d := spec.ActiveDeadlineSeconds; d == nil || *d != 70*60 {
		t.Errorf("the Job's deadline is %v, want startupDeadline and deadline together", d)
	}
	if d := spec.Template.Spec.ActiveDeadlineSeconds; d == nil || *d != 60*60 {
		t.Errorf("the pods' deadline is %v", d)
	}
	if spec.Template.Labels[v1alpha1.LabelSeveral] != "true" {
		t.Errorf("labels of the pods %v", spec.Template.Labels)
	}

	// An author's word on retries of each index holds; none is added to it.
	retrying := aTool().job(indexed).job(func(s *batchv1.JobSpec) { s.BackoffLimitPerIndex = ptr(int32(1)) })
	perIndex, err := Build(retrying.obj(), aTask().obj())
	if err != nil {
		t.Fatal(err)
	}
	if perIndex.Spec.BackoffLimit != nil || *perIndex.Spec.BackoffLimitPerIndex != 1 {
		t.Errorf("backoffLimit %v, backoffLimitPerIndex %v", perIndex.Spec.BackoffLimit, perIndex.Spec.BackoffLimitPerIndex)
	}

	one, err := Build(aTool().obj(), aTask().obj())
	if err != nil {
		t.Fatal(err)
	}
	if _, marked := one.Spec.Template.Labels[v1alpha1.LabelSeveral]; marked || one.Spec.ActiveDeadlineSeconds != nil {
		t.Errorf("a Job with one pod has the labels %v, the deadline %v", one.Spec.Template.Labels, one.Spec.ActiveDeadlineSeconds)
	}
}

func TestCheckJoinedOutput(t *testing.T) {
	indexed := func(s *batchv1.JobSpec) { s.CompletionMode = ptr(batchv1.IndexedCompletion) }
	const ofOnePod = `{"type":"object","properties":{"rows":{"type":"integer"}}}`
	const ofAll = `{"type":"object","properties":{"results":{"type":"array","items":` + ofOnePod + `}}}`
	checkProblem(t, Check(aTool().output(ofOnePod).obj()), "", "")
	checkProblem(t, Check(aTool().job(indexed).output(ofAll).obj()), "", "")
	checkProblem(t, Check(aTool().job(indexed).output(ofOnePod).obj()), v1alpha1.ToolReasonInvalidSchema,
		`spec.outputSchema: the Job has several pods, so that its structured result is {"results": […]}`)
}

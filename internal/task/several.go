package task

import (
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
	"github.com/mcptasks/mcptasks/internal/job"
)

// several is what is seen of a Job with several pods. What such a Job came to is the Job controller's to say; its pods say what
// each of them did.
type several struct {
	// indexed: each part is a completion index; otherwise each is a pod.
	indexed bool
	// total is how many parts have to succeed; 0: the Job is a work queue and has no such number.
	total int
	// succeeded is how many parts did, also where their pods are gone.
	succeeded int
	// givenUp is how many indexes the Job controller does not try any more; failed is how many attempts failed, also those that
	// were made good.
	givenUp, failed int
	// parts are those that anything is known of, ordered by number.
	parts []*part
	// since is when something last happened: a pod was created or ended.
	since time.Time
	// overSince is when the Job controller found that the Job succeeded or failed; zero: it hasn't.
	overSince time.Time
}

// part is one completion index, or one pod of a Job without indexes.
type part struct {
	number   int
	attempts []*attempt // without doubles
	// last is the attempt that counts: one that succeeded, else the newest. nil: no pod is left, or there never was one.
	last *attempt
	// succeeded: it is done; givenUp: it failed for good, by the Job controller's word.
	succeeded, givenUp bool
}

// isSeveral reports whether the task's Job has several pods. Where the Job is gone, its pods know.
func (f *facts) isSeveral() bool {
	if f.Job != nil {
		return job.Several(&f.Job.Spec)
	}
	return slices.ContainsFunc(f.Pods, func(p corev1.Pod) bool { return p.Labels[v1alpha1.LabelSeveral] != "" })
}

// readSeveral sorts what is seen by parts.
func (f *facts) readSeveral() *several {
	s := &several{}
	if f.Job != nil {
		s.indexed = job.Indexed(&f.Job.Spec)
		if n := f.Job.Spec.Completions; n != nil {
			s.total = int(*n)
		}
		s.since, s.failed = f.begun(), int(f.Job.Status.Failed)
		s.overSince = overSince(f.Job)
	}
	if s.indexed {
		s.parts = f.indexes(s.total)
	} else {
		s.parts = f.podsAsParts()
	}
	failed := 0
	for _, p := range s.parts {
		if p.succeeded {
			s.succeeded++
		}
		if p.givenUp {
			s.givenUp++
		}
		for _, a := range p.attempts {
			s.since = later(s.since, a.pod.CreationTimestamp.Time)
			if a.over() {
				s.since = later(s.since, a.overAt())
			}
			if a.pod.Status.Phase == corev1.PodFailed {
				failed++
			}
		}
	}
	s.failed = max(s.failed, failed)
	if f.Job != nil {
		s.succeeded = max(s.succeeded, int(f.Job.Status.Succeeded))
	}
	return s
}

// indexes are the parts of an Indexed Job: all indexes, in their order.
func (f *facts) indexes(total int) []*part {
	parts := make([]*part, total)
	for i := range parts {
		parts[i] = &part{number: i}
	}
	attempts := make([][]*attempt, total)
	for _, a := range f.attempts {
		n, err := strconv.Atoi(a.pod.Labels[batchv1.JobCompletionIndexAnnotation])
		if err == nil && n >= 0 && n < total {
			attempts[n] = append(attempts[n], a)
		}
	}
	for n, p := range parts {
		for _, a := range withoutDoubles(attempts[n]) {
			p.add(a)
		}
	}
	for n := range ranges(f.Job.Status.CompletedIndexes, total) {
		parts[n].succeeded = true
	}
	if given := f.Job.Status.FailedIndexes; given != nil {
		for n := range ranges(*given, total) {
			parts[n].givenUp = true
		}
	}
	return parts
}

// podsAsParts are the parts of a Job without indexes: its pods, in the order in which they ended.
func (f *facts) podsAsParts() []*part {
	pods := slices.Clone(f.attempts)
	slices.SortStableFunc(pods, func(a, b *attempt) int {
		if a.endedAt.IsZero() || b.endedAt.IsZero() {
			return -a.endedAt.Compare(b.endedAt) // those that have not ended come last
		}
		return a.endedAt.Compare(b.endedAt)
	})
	parts := make([]*part, len(pods))
	for i, a := range pods {
		parts[i] = &part{number: i + 1}
		parts[i].add(a)
	}
	return parts
}

// add counts an attempt in. The Job controller takes a pod for done by its phase.
func (p *part) add(a *attempt) {
	p.attempts = append(p.attempts, a)
	if p.last == nil || p.last.pod.Status.Phase != corev1.PodSucceeded {
		p.last = a
	}
	p.succeeded = p.succeeded || a.pod.Status.Phase == corev1.PodSucceeded
}

// ranges are the numbers in a Job's list of indexes, "0,3-5" for instance, that are below limit.
func ranges(text string, limit int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for item := range strings.SplitSeq(text, ",") {
			from, to, isRange := strings.Cut(item, "-")
			first, err := strconv.Atoi(from)
			if err != nil {
				continue
			}
			last := first
			if isRange {
				if last, err = strconv.Atoi(to); err != nil {
					continue
				}
			}
			for n := first; n <= min(last, limit-1); n++ {
				if !yield(n) {
					return
				}
			}
		}
	}
}

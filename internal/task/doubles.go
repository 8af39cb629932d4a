package task

import "slices"

// withoutDoubles leaves out each pod that was told to stop while another one, whose life it shared, was not: of the same work
// there were two at once. The Job controller makes a second pod when the answer to the creation of the first got lost, and
// deletes one of them when it finds both. That pod's end says nothing about the work, and the Job controller does not count it
// either. Attempts that follow each other share no time: the next one is created when the one before is over.
func withoutDoubles(attempts []*attempt) []*attempt {
	if len(attempts) < 2 {
		return attempts
	}
	var left []*attempt
	for _, a := range attempts {
		goesOn := func(b *attempt) bool { return b.stopAskedAt.IsZero() && a.outlives(b) && b.outlives(a) }
		if a.stopAskedAt.IsZero() || !slices.ContainsFunc(attempts, goesOn) {
			left = append(left, a)
		}
	}
	return left
}

// outlives reports whether an attempt was not over yet when another one began.
func (a *attempt) outlives(b *attempt) bool {
	return !a.over() || a.overAt().After(b.pod.CreationTimestamp.Time)
}

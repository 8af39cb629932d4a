package plugin

import (
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

// TestAnswer answers questions of a task: the API server lets each be answered once, and the plugin says why where it may not.
func TestAnswer(t *testing.T) {
	expect(t, false, "not found", "answer", "t-none", "confirm", "-n", namespace)
	task := create(t, "t-asks")
	args := func(more ...string) []string { return append([]string{"answer", "t-asks", "-n", namespace}, more...) }
	expect(t, false, "has no open question", args("confirm", "confirm=true")...)
	status := `{"status":{"state":"input_required","questions":{
		"confirm":{"message":"Go ahead?","askedAt":"2026-03-01T12:00:00.000000Z","requestedSchema":
			"{\"type\":\"object\",\"required\":[\"confirm\"],\"properties\":{\"confirm\":{\"type\":\"boolean\"}}}"},
		"ticket":{"message":"Which change?","askedAt":"2026-03-01T12:00:00.000000Z","requestedSchema":
			"{\"type\":\"object\",\"required\":[\"id\"],\"properties\":{\"id\":{\"type\":\"string\",\"minLength\":3}}}"}}}}`
	if err := cluster.Status().Patch(t.Context(), task, client.RawPatch(types.MergePatchType, []byte(status))); err != nil {
		t.Fatal(err)
	}

	expect(t, true, "confirm: Go ahead?", args()...)
	expect(t, false, "KEY is missing", args("--decline")...)
	expect(t, false, "has no question other; open are: confirm, ticket", args("other", "x=1")...)
	expect(t, false, "the question is still open", args("confirm")...)
	expect(t, false, `must be a boolean, not "yes"`, args("confirm", "confirm=yes")...)
	expect(t, false, "the question is still open", args("ticket", "id=x")...)
	expect(t, false, "do not go together", args("confirm", "--decline", "--dismiss")...)

	expect(t, true, "question ticket of task t-asks is answered (accept)", args("ticket", "id=CHG-42")...)
	expect(t, false, "has its answer already (accept), and that is final", args("ticket", "id=CHG-43")...)
	expect(t, true, "is answered (decline)", args("confirm", "--decline")...)
	if err := cluster.Get(t.Context(), client.ObjectKeyFromObject(task), task); err != nil {
		t.Fatal(err)
	}
	answers := task.Spec.Answers
	if len(answers) != 2 || answers["ticket"].Content != `{"id":"CHG-42"}` || answers["ticket"].At.Time.IsZero() ||
		answers["confirm"].Action != v1alpha1.AnswerDecline || answers["confirm"].Content != "" {
		t.Errorf("spec.answers is %+v", answers)
	}
	expect(t, true, "is being cancelled", "cancel", "t-asks", "-n", namespace)
	expect(t, false, "is being cancelled; nothing is asked any more", args("confirm", "confirm=true")...)
}

package question

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/mcptasks/mcptasks/api/v1alpha1"
)

func TestCleanMessage(t *testing.T) {
	for _, tt := range []struct{ name, in, want string }{
		{"plain", "Apply 3 migrations?", "Apply 3 migrations?"},
		{"other scripts", "実行しますか？ 👩‍💻", "実行しますか？ 👩‍💻"},
		{"line ends", "Delete\r\n\n\ta.txt?\u2028now", "Delete a.txt? now"},
		{"control characters", "a\x00b\x1b[31mc\x7f\u0085d", "ab[31mc d"},
		{"text turned around", "delete \u202egpj.exe\u202c \u2066x\u2069", "delete gpj.exe x"},
		{"hidden text", "a\u200b\ufeff\u00ad\U000E0041b", "ab"},
		{"not UTF-8", "a\xffb", "a\uFFFDb"},
		{"nothing left", "\n\t\x00", ""},
		{"as long as it may be", strings.Repeat("ä", 4096), strings.Repeat("ä", 4096)},
		{"too long", strings.Repeat("ä", 4097), strings.Repeat("ä", 4095) + "…"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := cleanMessage(tt.in); got != tt.want {
				t.Errorf("got %q, want %q", clip(got, 100), clip(tt.want, 100))
			}
		})
	}
}

func FuzzCleanMessage(f *testing.F) {
	f.Add("Delete\n\u202ea.txt?")
	f.Fuzz(func(t *testing.T, in string) {
		got := cleanMessage(in)
		if !utf8.ValidString(got) || utf8.RuneCountInString(got) > v1alpha1.MaxQuestionMessage {
			t.Fatalf("not a message: %q", got)
		}
		if again := cleanMessage(got); again != got {
			t.Fatalf("cleaning twice changes %q to %q", got, again)
		}
	})
}

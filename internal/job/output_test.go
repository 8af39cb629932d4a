package job

import (
	"strings"
	"testing"
)

func TestLogTail(t *testing.T) {
	tests := []struct {
		name  string
		out   Output
		limit int64
		want  string // with the mark
	}{
		{"empty", wholeLog(""), 10, ""},
		{"only line ends", wholeLog("\r\n\n"), 10, ""},
		{"whole", wholeLog("a\nb"), 10, "a\nb"},
		{"line end behind", wholeLog("a\nb\r\n"), 10, "a\nb"},
		{"spaces stay", wholeLog("  a \n"), 10, "  a "},
		{"exactly the limit", wholeLog("0123456789\n"), 10, "0123456789"},
		{"over the limit", wholeLog("x0123456789"), 10, "[The first 1 of 11 bytes of the output are missing.]\n0123456789"},
		{"read from its end", Output{Data: []byte("56789"), Total: 10}, 10,
			"[The first 5 of 10 bytes of the output are missing.]\n56789"},
		{"read from its end, and over the limit", Output{Data: []byte("56789"), Total: 10}, 3,
			"[The first 7 of 10 bytes of the output are missing.]\n789"},
		{"length not known", Output{Data: []byte("abc")}, 10, "abc"},
		{"character at the limit", wholeLog("aéb"), 2, "[The first 3 of 4 bytes of the output are missing.]\nb"},
		{"read from within a character", Output{Data: []byte("\x98\x80é"), Total: 6}, 10,
			"[The first 4 of 6 bytes of the output are missing.]\né"},
		{"continuation bytes of no cut", wholeLog("\x98a"), 10, "\uFFFDa"},
		{"not UTF-8", wholeLog("a\xff\xfeb\xc3"), 10, "a\uFFFD\uFFFDb\uFFFD"},
		{"NUL", wholeLog("a\x00b"), 10, "a\uFFFDb"},
		{"other control characters", wholeLog("\x1b[31mred\x1b[0m\x07"), 100, "\x1b[31mred\x1b[0m\x07"},
		{"UTF-16", wholeLog("o\x00k\x00"), 100, "o\uFFFDk\uFFFD"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := logTail(tt.out, tt.limit).marked(); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestMessageTail_B19(t *testing.T) {
	full := strings.Repeat("m", 4096)
	tests := []struct {
		name   string
		ending Ending
		want   string
	}{
		{"short", Ending{TerminationMessage: "m\n"}, "m"},
		{"one less than full", Ending{TerminationMessage: full[1:]}, full[1:]},
		{"full", Ending{TerminationMessage: full},
			"[The output has all of the 4096 bytes that Kubernetes keeps of a termination message; more of it may be missing.]\n" + full},
		{"full in a pod of four", Ending{TerminationMessage: full[:3072], TerminationMessageLimit: 3072},
			"[The output has all of the 3072 bytes that Kubernetes keeps of a termination message; more of it may be " +
				"missing.]\n" + full[:3072]},
		{"cut within characters, in place of which others stand", Ending{TerminationMessage: "\uFFFD" + full[2:] + "\uFFFD"},
			"[The output has all of the 4096 bytes that Kubernetes keeps of a termination message; more of it may be " +
				"missing.]\n\uFFFD" + full[2:] + "\uFFFD"},
		{"cut within a character", Ending{TerminationMessage: "\xa9" + full[1:]},
			"[The output has all of the 4096 bytes that Kubernetes keeps of a termination message; more of it may be " +
				"missing.]\n\uFFFD" + full[1:]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := messageTail(tt.ending).marked(); got != tt.want {
				t.Errorf("got %.300q, want %.300q", got, tt.want)
			}
		})
	}
}

func TestOutput_B18_SentencesOfTheKubelet(t *testing.T) {
	tests := map[string]bool{
		"unable to retrieve container logs for containerd://0af7\n":              true,
		"failed to try resolving symlinks in path \"/var/log/pods/x\": lstat":    true,
		"unable to retrieve container logs for containerd://0af7\nand then more": false,
		"the tool says: unable to retrieve container logs for containerd://0af7": false,
		"": false,
	}
	for text, want := range tests {
		if got := wholeLog(text).checked().Unavailable != ""; got != want {
			t.Errorf("%q: unavailable = %t, want %t", text, got, want)
		}
	}
}

func TestLastWords_B41(t *testing.T) {
	for name, c := range map[string]struct {
		out  Output
		want string
	}{
		"nothing":               {Output{}, ""},
		"white space":           {Output{Data: []byte(" \n\t\n"), Total: 4}, ""},
		"short":                 {Output{Data: []byte("step 1\nstep 2\n"), Total: 14}, "step 1 step 2"},
		"the end of much":       {Output{Data: []byte("0123456789 step 3\n"), Total: 18}, "23456789 step 3"},
		"whole characters":      {Output{Data: []byte("ééééééééé"), Total: 18}, "ééééééé"},
		"colours and bells":     {Output{Data: []byte("\x1b[1mred\x1b[0m\a"), Total: 12}, "[1mred[0m"},
		"no UTF-8":              {Output{Data: []byte("a\xffb"), Total: 3}, "a�b"},
		"no log":                {Output{Unavailable: "its pod is gone"}, ""},
		"a kubelet's own words": {Output{Data: []byte("unable to retrieve container logs for containerd://x")}, ""},
	} {
		if got := c.out.LastWords(15); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

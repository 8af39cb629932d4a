package e2e

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/mcptasks/mcptasks/test/images"
	"github.com/mcptasks/mcptasks/test/mcpclient"
)

// TestTool_EncodeVideo makes a film, has the sample encode it, and looks at what came out with another program's eyes.
func TestTool_EncodeVideo(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.FFmpeg)
	x.claim("media")
	x.offer(tool("film", "").shell(images.FFmpeg, `
		ffmpeg -hide_banner -nostdin -loglevel error -f lavfi -i testsrc2=duration=3:size=640x480:rate=25 \
			-f lavfi -i sine=duration=3 -c:v mpeg4 -q:v 2 -c:a pcm_s16le /media/film.avi
		echo "This is not a film." >/media/text.mp4`).volume("media", "/media"))
	x.offer(tool("look", "").shell(images.FFmpeg, `
		ls -A /media
		ffprobe -v error -count_frames -show_entries stream=codec_name,nb_read_frames:format=format_name -of json \
			"/media/$MCP_ARG_FILE" | tr -d '\n'`).properties("file! string").volume("media", "/media"))
	c := x.replicas(1)[0]
	x.result(c, "film", nil)

	type video struct {
		File, Codec           string
		Width, Height, Bytes  int
		Seconds               float64
		container, videoCodec string
	}
	var small video
	for _, test := range []struct {
		arguments map[string]any
		want      video
	}{
		{map[string]any{"output": "a.mp4", "height": 240, "quality": 30},
			video{File: "a.mp4", Codec: "h264", Width: 320, Height: 240, container: "mp4", videoCodec: "h264"}},
		{map[string]any{"output": "b.mkv", "codec": "h265", "height": 1080}, // it is not made larger
			video{File: "b.mkv", Codec: "hevc", Width: 640, Height: 480, container: "matroska", videoCodec: "hevc"}},
		{map[string]any{"output": "a.mp4", "codec": "vp9", "height": 360, "overwrite": true},
			video{File: "a.mp4", Codec: "vp9", Width: 480, Height: 360, container: "mp4", videoCodec: "vp9"}},
	} {
		test.arguments["source"] = "film.avi"
		var got video
		x.structured(c, "encode_video", test.arguments, &got)
		want := test.want
		if got.File != want.File || got.Codec != want.Codec || got.Width != want.Width || got.Height != want.Height ||
			got.Bytes <= 0 || got.Seconds < 2.9 || got.Seconds > 3.1 {
			t.Errorf("encode_video %v returned %+v, want %+v", test.arguments, got, want)
		}
		var seen struct {
			Streams []struct {
				Codec  string `json:"codec_name"`
				Frames string `json:"nb_read_frames"`
			}
			Format struct {
				Name string `json:"format_name"`
			}
		}
		text := x.result(c, "look", map[string]any{"file": want.File})
		files, found, _ := strings.Cut(text, "{")
		x.must(json.Unmarshal([]byte("{"+found), &seen))
		if len(seen.Streams) != 2 || seen.Streams[0].Codec != want.videoCodec || seen.Streams[0].Frames != "75" ||
			seen.Streams[1].Codec != "aac" || !strings.Contains(seen.Format.Name, want.container) {
			t.Errorf("%s is %s, want 75 frames of %s, and sound", want.File, text, want.videoCodec)
		}
		if strings.Contains(files, ".part") {
			t.Errorf("something unfinished is left: %s", files)
		}
		if small.Bytes == 0 {
			small = got
		}
	}

	for _, test := range []struct {
		name      string
		arguments map[string]any
		want      string
	}{
		{"no such film", map[string]any{"source": "none.avi", "output": "x.mp4"}, "No such file or directory"},
		{"not a film", map[string]any{"source": "text.mp4", "output": "x.mp4"}, "Invalid data found"},
		{"the output is there", map[string]any{"source": "film.avi", "output": "a.mp4"}, "a.mp4 is there already"},
		{"an unknown codec", map[string]any{"source": "film.avi", "output": "x.mp4", "codec": "av1"}, "/codec"},
		{"a path", map[string]any{"source": "../film.avi", "output": "x.mp4"}, "/source"},
		{"a flag", map[string]any{"source": "-version", "output": "x.mp4"}, "/source"},
	} {
		t.Run(test.name, func(t *testing.T) {
			if text := x.failure(c, "encode_video", test.arguments); !strings.Contains(text, test.want) {
				t.Errorf("encode_video says %q, want %q", text, test.want)
			}
		})
	}
}

// TestTool_EncodeVideoCancel cancels an encoding that would take for ever, and nothing of it is left.
func TestTool_EncodeVideoCancel(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.FFmpeg)
	x.claim("media")
	x.offer(tool("film", "").shell(images.FFmpeg, `
		ffmpeg -hide_banner -nostdin -loglevel error -f lavfi -i testsrc2=duration=1:size=1920x1080:rate=25 -c:v mpeg4 /media/second.avi
		{ echo ffconcat version 1.0; yes "file second.avi" | head -n 3600; } >/media/hour.ffconcat`).volume("media", "/media"))
	x.offer(tool("list", "").shell(images.Busybox, `ls -A /media`).volume("media", "/media"))
	c := x.replicas(1)[0]
	x.result(c, "film", nil)
	id := x.call(c, "encode_video", map[string]any{
		"source": "hour.ffconcat", "output": "hour.mkv", "codec": "h265", "height": 2160, "quality": 15,
	})
	x.waitRunning(id)
	x.must(c.Cancel(x.ctx, id))
	if task := x.wait(c, id); task.Status != "cancelled" {
		t.Errorf("the task is %s (%s): %+v", task.Status, task.StatusMessage, task.Result)
	}
	x.waitStopped(id)
	if files := x.result(c, "list", nil); strings.Contains(files, "part") || strings.Contains(files, "hour.mkv") {
		t.Errorf("there are %q", files)
	}
}

// TestTool_Backup backs a directory up, loses it, and restores it byte for byte; and old backups go.
func TestTool_Backup(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Busybox)
	x.claim("files")
	x.claim("backups")
	x.offer(tool("write", "").shell(images.Busybox, `
		cd /files
		mkdir -p reports/2026/empty reports-old
		printf 'the first line\nthe second, without an end' >reports/summary.txt
		dd if=/dev/urandom of=reports/2026/random bs=1000 count=333 2>/dev/null
		ln -sf ../summary.txt reports/2026/link
		printf %s "$MCP_ARG_VERSION" >reports/version
		echo keep me >reports-old/file`).properties("version! string").volume("files", "/files"))
	x.offer(tool("sum", "").shell(images.Busybox, `
		cd "/files/$MCP_ARG_DIRECTORY"
		find . | sort
		find . -type f | sort | xargs sha256sum
		readlink 2026/link`).properties("directory! string").volume("files", "/files"))
	x.offer(tool("lose", "").shell(images.Busybox, `rm -rf /files/reports`).volume("files", "/files"))
	c := x.replicas(1)[0]

	type backup struct {
		Directory, Backup, SHA256 string
		Files, Bytes              int
		Removed                   []string
	}
	var backups []backup
	sums := map[string]string{} // by backup
	for i := range 3 {
		x.result(c, "write", map[string]any{"version": fmt.Sprint("v", i)})
		var made backup
		x.structured(c, "backup_files", map[string]any{"directory": "reports", "keep": 2}, &made)
		if made.Directory != "reports" || made.Files != 3 || made.Bytes < 300_000 || len(made.SHA256) != 64 {
			t.Fatalf("backup_files returned %+v", made)
		}
		backups = append(backups, made)
		sums[made.Backup] = x.result(c, "sum", map[string]any{"directory": "reports"})
	}
	if got := backups[2].Removed; len(backups[1].Removed) > 0 || len(got) != 1 || got[0] != backups[0].Backup {
		t.Errorf("the backups removed %v, then %v; want the first one with the third", backups[1].Removed, got)
	}

	x.result(c, "lose", nil)
	for _, test := range []struct {
		arguments map[string]any
		backup    string
	}{
		{map[string]any{"directory": "reports", "into": "reports"}, backups[2].Backup},
		{map[string]any{"directory": "reports", "into": "earlier", "backup": backups[1].Backup}, backups[1].Backup},
	} {
		var restored struct {
			Directory, Backup string
			Files             int
		}
		x.structured(c, "restore_files", test.arguments, &restored)
		if restored.Backup != test.backup || restored.Files != 3 || restored.Directory != test.arguments["into"] {
			t.Errorf("restore_files %v returned %+v, want backup %s", test.arguments, restored, test.backup)
		}
		if got := x.result(c, "sum", map[string]any{"directory": restored.Directory}); got != sums[test.backup] {
			t.Errorf("restored was\n%s\nwant\n%s", got, sums[test.backup])
		}
	}

	for _, test := range []struct {
		name, tool string
		arguments  map[string]any
		want       []string
	}{
		{"no such directory", "backup_files", map[string]any{"directory": "none"}, []string{"There is no directory none.", "code 2"}},
		{"the directory is there", "restore_files", map[string]any{"directory": "reports", "into": "reports-old"},
			[]string{"reports-old is there already"}},
		{"no such backup", "restore_files", map[string]any{"directory": "reports", "into": "x", "backup": backups[0].Backup},
			[]string{"There is no such backup", backups[1].Backup, backups[2].Backup}},
		{"not even one backup", "backup_files", map[string]any{"directory": "reports", "keep": 0}, []string{"/keep"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			text := x.failure(c, test.tool, test.arguments)
			for _, want := range test.want {
				if !strings.Contains(text, want) {
					t.Errorf("%s says %q, want %q", test.tool, text, want)
				}
			}
		})
	}
}

// TestTool_BuildProject does what an agent does: it writes a program, reads what the compiler says, mends it, and runs it.
func TestTool_BuildProject(t *testing.T) {
	t.Parallel()
	x := newTenant(t)
	x.needs(images.Build)
	x.claim("workspace")
	x.offer(tool("write", "").shell(images.Busybox, `
		cd /workspace
		mkdir -p "$(dirname "$MCP_ARG_PATH")"
		printf %s "$MCP_ARG_TEXT" >"$MCP_ARG_PATH"`).properties("path! string", "text! string").volume("workspace", "/workspace"))
	x.offer(tool("run", "").shell(images.Build, `/workspace/hello/hello World`).volume("workspace", "/workspace"))
	c := x.replicas(1)[0]
	write := func(path, text string) {
		t.Helper()
		x.result(c, "write", map[string]any{"path": path, "text": text})
	}
	write("hello/Makefile", "all: hello\nhello: main.o greet.o\n\t$(CC) -o $@ $^\n"+
		"check: hello\n\ttest \"$$(./hello you)\" = \"Hello, you!\" && echo passed\nclean:\n\trm -f hello *.o\n")
	write("hello/greet.c", "#include <stdio.h>\nvoid greet(const char *name) { printf(\"Hello, %s!\\n\", name); }\n")
	const program = "void greet(const char *name);\n\nint main(int argc, char **argv)\n{\n\tgreet(argv[1]);\n\treturn 0;\n}\n"

	write("hello/main.c", strings.Replace(program, "[1]);", "[1])", 1))
	text := x.failure(c, "build_project", map[string]any{"project": "hello"})
	for _, want := range []string{"main.c:6: error: ';' expected", "code 2"} {
		if !strings.Contains(text, want) {
			t.Errorf("with a mistake in it the build says %q, want %q", text, want)
		}
	}
	write("hello/main.c", program)
	text = x.result(c, "build_project", map[string]any{"project": "hello", "jobs": 1})
	if !strings.Contains(text, "-o hello main.o greet.o") {
		t.Errorf("the build says %q", text)
	}
	if text := x.result(c, "run", nil); text != "Hello, World!" {
		t.Errorf("what was built says %q", text)
	}
	text = x.result(c, "build_project", map[string]any{"project": "hello", "target": "check"})
	if !strings.Contains(text, "passed") {
		t.Errorf("the check says %q", text)
	}
	if text := x.failure(c, "build_project", map[string]any{"project": "none"}); !strings.Contains(text, "/workspace/none") {
		t.Errorf("a project that is not there: %q", text)
	}
	text = x.failure(c, "build_project", map[string]any{"project": "hello", "target": "-f/etc/passwd"})
	if !strings.Contains(text, "/target") {
		t.Errorf("a target that is a flag: %q", text)
	}
}

// needs skips the test where the image cannot be made.
func (x *tenant) needs(image images.Image) {
	x.t.Helper()
	if why := image.Missing(); why != "" {
		x.t.Skip(why)
	}
}

// structured calls a tool, as a task or not, and reads its structured result, which must not be an error's.
func (x *tenant) structured(c *mcpclient.Client, tool string, arguments, into any) {
	x.t.Helper()
	result := x.outcome(c, tool, arguments)
	if result.IsError || result.StructuredContent == nil {
		x.t.Fatalf("%s %v has no structured result: %+v", tool, arguments, result)
	}
	x.must(json.Unmarshal(result.StructuredContent, into))
}

// failure calls a tool, which must end with an error of its own or of its arguments, and returns its text.
func (x *tenant) failure(c *mcpclient.Client, tool string, arguments any) string {
	x.t.Helper()
	result := x.outcome(c, tool, arguments)
	if !result.IsError {
		x.t.Fatalf("%s %v ended well: %s", tool, arguments, result.Text())
	}
	return result.Text()
}

// outcome calls a tool, as a task or not, and returns its result; there has to be one.
func (x *tenant) outcome(c *mcpclient.Client, tool string, arguments any) *mcpclient.Result {
	x.t.Helper()
	call, err := c.CallTool(x.ctx, tool, arguments)
	x.must(err)
	if call.Task == nil {
		return call.Result
	}
	task := x.wait(c, call.Task.TaskID)
	if task.Result == nil {
		x.t.Fatalf("%s %v is %s (%s), error %+v", tool, arguments, task.Status, task.StatusMessage, task.Error)
	}
	return task.Result
}

package job

import (
	"strings"
	"testing"
)

// Each row is an argv; what must be found to be code is in braces, what is data to it in brackets.
func TestRoles(t *testing.T) {
	rows := []string{
		"prog a b",
		"prog -c a",
		"sh -c {code}",
		"/bin/sh -c {code}",
		"sh -c {code} [name] [-rf]",
		"bash -lc {code}",
		"bash -ce {code}",
		"bash -euo pipefail -c {code} [x]",
		"bash -c -e {code}",
		"bash --norc -c {code}",
		"bash --rcfile file -c {code}",
		"bash +o posix -c {code}",
		"sh script.sh -c a",
		"sh -x script.sh a",
		"sh",
		"sh -c",
		"busybox sh -c {code}",
		"env A=b bash -c {code}",
		"tini -- sh -c {code}",
		"timeout 5 sh -c {code}",
		"su nobody -c {code}",
		"su -c {code} nobody",
		"python3 -c {code} [-v]",
		"python3.12 -W ignore -uc {code}",
		"python3 {-cprint(1)}",
		"python app.py -c config",
		"python -m module -c config",
		"perl -e {code} a",
		"perl -Mstrict -lane {code}",
		"perl -I lib -e {code} -e {code}",
		"perl script.pl -e a",
		"ruby -e {code}",
		"node -e {code}",
		"node -pe {code}",
		"node --eval {code}",
		"node {--eval=code}",
		"node --require x -p {code}",
		"node --import x -e {code}",
		"node app.js -e a",
		"php -r {code}",
		"php -d a=b -r {code}",
		"lua5.4 -e {code}",
		"pwsh -NoProfile -Command {code}",
		"pwsh.exe -c {code}",
		"awk {code} file",
		"awk -v a=b {code} file",
		"awk -f program input",
		"awk -e {code} file",
		"gawk -F , {code}",
		"sed {s/a/b/} file",
		"sed -n -e {code} file",
		"sed -f script file",
		"ssh host {code} {more}",
		"ssh -p 22 -oBatchMode=yes host {sh} {-c} {code}",
		"ssh -p 22 host",
		"psql -d db -c {code}",
		"psql {--command=code} db",
		"mysql -uroot db -e {code}",
	}
	for _, row := range rows {
		t.Run(row, func(t *testing.T) {
			var argv []string
			for _, word := range strings.Fields(row) {
				argv = append(argv, strings.Trim(word, "{}[]"))
			}
			var got []string
			for i, r := range roles(argv) {
				got = append(got, map[role]string{roleOther: argv[i], roleCode: "{" + argv[i] + "}", roleData: "[" + argv[i] + "]"}[r])
			}
			if got := strings.Join(got, " "); got != row {
				t.Errorf("roles = %s", got)
			}
		})
	}
}

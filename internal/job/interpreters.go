package job

import (
	"path"
	"slices"
	"strings"
)

// An interpreter is a program that runs what stands in its arguments as a program, script or query.
type interpreter struct {
	// code are the letters of the short options that such code follows, alone or in a bundle such as -lc.
	code string
	// codeLong are the long options that such code follows, without their dashes.
	codeLong []string
	// values are the letters of the short options that take another value, and valuesLong the long ones.
	values     string
	valuesLong []string
	// operand: the first argument that is no option is code, unless an option has named a file of it.
	operand bool
	// remote: the first argument that is no option says where, and all behind it is code there.
	remote bool
	// fileOption is the letter of that option; it is one of values.
	fileOption string
	// bundled: letters behind the one for code are further options, as with sh -ce, and not the code.
	bundled bool
	// late: options may stand behind other arguments. Otherwise the first of those ends them.
	late bool
	// plainRest: what follows the code is data to the code.
	plainRest bool
}

var (
	shell  = &interpreter{code: "c", values: "oO", valuesLong: []string{"rcfile", "init-file"}, bundled: true, plainRest: true}
	python = &interpreter{code: "c", values: "WX", plainRest: true}
	perl   = &interpreter{code: "eE", values: "IMm"}
	ruby   = &interpreter{code: "e", values: "IrEC"}
	node   = &interpreter{code: "ep", codeLong: []string{"eval", "print"}, values: "rC", valuesLong: moduleOptions}
	php    = &interpreter{code: "rBRE", codeLong: []string{"run"}, values: "dc"}
	lua    = &interpreter{code: "e", values: "l"}
	pwsh   = &interpreter{code: "c", codeLong: []string{"command", "encodedcommand"}, late: true}
	awk    = &interpreter{code: "e", codeLong: []string{"source"}, values: "vFf", operand: true, fileOption: "f"}
	sed    = &interpreter{code: "e", codeLong: []string{"expression"}, values: "f", fileOption: "f", operand: true, late: true}
	su     = &interpreter{code: "c", codeLong: []string{"command"}, late: true}
	ssh    = &interpreter{values: "BbcDEeFIiJLlmOopQRSWw", remote: true}
	psql   = &interpreter{code: "c", codeLong: []string{"command"}, late: true}
	mysql  = &interpreter{code: "e", codeLong: []string{"execute"}, late: true}
)

// moduleOptions are the options of node that load a module first.
var moduleOptions = []string{"require", "import", "loader"}

// interpreters by the name of their program, without version numbers.
var interpreters = map[string]*interpreter{
	"sh": shell, "bash": shell, "ash": shell, "dash": shell, "zsh": shell, "ksh": shell, "mksh": shell, "rbash": shell,
	"fish": shell, "python": python, "pypy": python, "perl": perl, "ruby": ruby, "node": node, "nodejs": node, "bun": node,
	"php": php, "lua": lua, "luajit": lua, "pwsh": pwsh, "powershell": pwsh, "awk": awk, "gawk": awk, "mawk": awk, "nawk": awk,
	"sed": sed, "ssh": ssh, "su": su, "runuser": su, "psql": psql, "mysql": mysql, "mariadb": mysql,
}

// interpreterOf is the interpreter that a program's name or path stands for, or nil.
func interpreterOf(program string) *interpreter {
	name := strings.TrimSuffix(strings.ToLower(path.Base(program)), ".exe")
	return interpreters[strings.TrimRight(name, "0123456789.")]
}

// A role is what an element of an argv is to the programs that read it.
type role int

const (
	// roleOther: it may be read as an option if it begins with a dash.
	roleOther role = iota
	// roleData: no program takes it for an option.
	roleData
	// roleCode: it is run.
	roleCode
)

// roles says what each element of an argv is. Programs start other programs whose argv follows theirs, as env, timeout and
// tini do, so every element may be an interpreter.
func roles(argv []string) []role {
	all := make([]role, len(argv))
	for i, element := range argv {
		if p := interpreterOf(element); p != nil && all[i] == roleOther {
			p.mark(argv[i+1:], all[i+1:])
		}
	}
	return all
}

// mark sets the roles of an interpreter's arguments.
func (p *interpreter) mark(args []string, roles []role) {
	wanted := p.operand // the next operand is code
	code := func(i int) (done bool) {
		if i >= len(args) {
			return true
		}
		roles[i], wanted = roleCode, false
		for j := i + 1; p.plainRest && j < len(roles); j++ {
			roles[j] = roleData
		}
		return p.plainRest
	}
	for i := 0; i < len(args); i++ {
		switch p.classify(args[i]) {
		case codeHere:
			code(i)
		case codeNext:
			if p.bundled {
				wanted = true
				continue
			}
			if i++; code(i) {
				return
			}
		case valueNext:
			wanted = wanted && !strings.HasSuffix(args[i], p.fileOption)
			i++
		case operand:
			for j := i + 1; p.remote && j < len(roles); j++ {
				roles[j] = roleCode
			}
			if wanted && code(i) || !p.late {
				return
			}
		case option:
		}
	}
}

// A class is what one argument of an interpreter is.
type class int

const (
	operand   class = iota // no option
	option                 // an option without a value, or with a harmless one of its own
	valueNext              // an option whose value, which is not code, follows
	codeNext               // an option that code follows
	codeHere               // an option with code in the same argument
)

func (p *interpreter) classify(arg string) class {
	switch {
	case strings.HasPrefix(arg, "--"):
		return p.classifyLong(arg[2:])
	case p == pwsh && strings.HasPrefix(arg, "-") && len(arg) > 2:
		return p.classifyLong(arg[1:])
	case len(arg) > 1 && arg[0] == '-', p == shell && strings.HasPrefix(arg, "+"):
		return p.classifyShort(arg[1:])
	default:
		return operand
	}
}

func (p *interpreter) classifyLong(arg string) class {
	name, _, has := strings.Cut(arg, "=")
	switch {
	case slices.Contains(p.codeLong, strings.ToLower(name)) && has:
		return codeHere
	case slices.Contains(p.codeLong, strings.ToLower(name)):
		return codeNext
	case slices.Contains(p.valuesLong, name) && !has:
		return valueNext
	default:
		return option
	}
}

func (p *interpreter) classifyShort(letters string) class {
	for i, letter := range letters {
		rest := letters[i+1:]
		switch {
		case strings.ContainsRune(p.code, letter) && (p.bundled || strings.Trim(rest, p.code) == ""):
			return codeNext
		case strings.ContainsRune(p.code, letter):
			return codeHere
		case strings.ContainsRune(p.values, letter) && rest == "":
			return valueNext
		case strings.ContainsRune(p.values, letter):
			return option
		}
	}
	return option
}

package schema

import "regexp/syntax"

// mayStartWith reports whether some string that begins with c, which is not a line end, matches the regular expression
// anywhere. It looks at the automaton of the expression and answers true rather than wrongly false.
func mayStartWith(pattern string, c byte) bool {
	re, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return true
	}
	prog, err := syntax.Compile(re.Simplify())
	if err != nil {
		return true
	}
	start := uint32(prog.Start)
	// At the beginning of the text, with c to be read, the text and its first line do not end.
	atStart := reach(prog, []uint32{start}, syntax.EmptyEndText|syntax.EmptyEndLine, false)
	if hasMatch(prog, atStart) {
		return true
	}
	// Behind c, the expression goes on, or its match begins. Any text may follow.
	behind := []uint32{start}
	for _, pc := range atStart {
		if inst := &prog.Inst[pc]; takesRune(inst) && inst.MatchRune(rune(c)) {
			behind = append(behind, inst.Out)
		}
	}
	return hasMatch(prog, reach(prog, behind, syntax.EmptyBeginText, true))
}

// reach are the instructions that can be reached from pcs, past no condition in never, and past instructions that read a
// character only where reading is set.
func reach(prog *syntax.Prog, pcs []uint32, never syntax.EmptyOp, reading bool) []uint32 {
	seen := map[uint32]bool{}
	var all []uint32
	for len(pcs) > 0 {
		pc := pcs[len(pcs)-1]
		pcs = pcs[:len(pcs)-1]
		if seen[pc] {
			continue
		}
		seen[pc] = true
		all = append(all, pc)
		switch inst := &prog.Inst[pc]; inst.Op {
		case syntax.InstAlt, syntax.InstAltMatch:
			pcs = append(pcs, inst.Out, inst.Arg)
		case syntax.InstCapture, syntax.InstNop:
			pcs = append(pcs, inst.Out)
		case syntax.InstEmptyWidth:
			if syntax.EmptyOp(inst.Arg)&never == 0 {
				pcs = append(pcs, inst.Out)
			}
		default:
			if reading && takesRune(inst) {
				pcs = append(pcs, inst.Out)
			}
		}
	}
	return all
}

func hasMatch(prog *syntax.Prog, pcs []uint32) bool {
	for _, pc := range pcs {
		if prog.Inst[pc].Op == syntax.InstMatch {
			return true
		}
	}
	return false
}

func takesRune(inst *syntax.Inst) bool {
	switch inst.Op {
	case syntax.InstRune, syntax.InstRune1, syntax.InstRuneAny, syntax.InstRuneAnyNotNL:
		return true
	default:
		return false
	}
}

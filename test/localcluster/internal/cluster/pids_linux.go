package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// machinePIDs tells the machine's ids of a supervisor's children by their ids in its namespace. What can't be read is left out:
// processes come and go.
func machinePIDs(supervisor int) map[int]int {
	pids := map[int]int{}
	lists, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", supervisor))
	for _, list := range lists {
		children, _ := os.ReadFile(list)
		for _, child := range strings.Fields(string(children)) {
			status, _ := os.ReadFile(filepath.Join("/proc", child, "status"))
			for line := range strings.Lines(string(status)) {
				ids, ok := strings.CutPrefix(line, "NSpid:")
				if !ok {
					continue
				}
				// From the outermost namespace to the innermost; here we are in the outermost that we can see.
				f := strings.Fields(ids)
				outer, _ := strconv.Atoi(f[0])
				inner, _ := strconv.Atoi(f[len(f)-1])
				pids[inner] = outer
			}
		}
	}
	return pids
}

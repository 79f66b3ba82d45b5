package differ

import (
	"regexp"
	"slices"
	"strings"
)

// harmful is the reason why a run is not made.
func harmful(s *textStep) string {
	tool, args, words := s.Argv[0], s.Argv[1:], strings.Join(s.Argv[1:], " ")
	switch {
	case strings.ContainsRune(words, 0):
		return "no program can be given a NUL"
	case tool == "nfacct":
		if len(args) > 0 && args[0] != "" && strings.Index("monitor", args[0]) == 0 {
			return "nfacct monitor waits for ever"
		}
	case tool == "ipset":
		if writesFile.MatchString(words) || writesFile.MatchString(s.Stdin) {
			return "ipset -f writes a file of that name"
		}
		if slices.Contains(args, "-") || slices.Contains(strings.Fields(s.Stdin), "-") {
			return "ipset - waits for somebody to type"
		}
	case startsProgram.MatchString(words) || startsProgram.MatchString(s.Stdin):
		return "-M would start a program"
	}
	return ""
}

var (
	// startsProgram is -M or --modprobe, which may be cut short.
	startsProgram = regexp.MustCompile(`(^|[\s"])(-[a-zA-Z0-9]*M|--mod?(p[a-z]*)?([=\s"]|$))`)
	// writesFile is -f of ipset.
	writesFile = regexp.MustCompile(`(^|[\s"])--?f(ile)?([\s"]|$)`)
)

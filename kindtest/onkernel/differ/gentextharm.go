package differ

import (
	"encoding/binary"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
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
		if slices.ContainsFunc(strings.Fields(s.Stdin), isFileOption) {
			return "ipset keeps a file's name of a line of restore that it has freed"
		}
		if writesFile(args) {
			return "ipset -f writes a file of that name"
		}
		if reason := harmfulSets(words + "\n" + s.Stdin); reason != "" {
			return reason
		}
	case startsProgram.MatchString(words) || startsProgram.MatchString(s.Stdin):
		return "-M would start a program"
	}
	return ""
}

// startsProgram is -M or --modprobe, which may be cut short.
var startsProgram = regexp.MustCompile(`(^|[\s"])(-[a-zA-Z0-9]*M|--mod?(p[a-z]*)?([=\s"]|$))`)

// writesFile says that words of ipset name a file with -f, but for one in a folder that is not there.
func writesFile(words []string) bool {
	for i, w := range words {
		if isFileOption(w) && i+1 < len(words) && !strings.HasPrefix(words[i+1], "/no/such/") {
			return true
		}
	}
	return false
}

// isFileOption says that a word is -f of ipset.
func isFileOption(word string) bool {
	return slices.Contains([]string{"-f", "--f", "-file", "--file"}, strings.Trim(word, "\"'"))
}

// harmfulSets is the reason why a run of ipset is not made.
func harmfulSets(text string) string {
	exist := strings.Contains(text, "exist") || strings.Contains(text, "-!")
	for line := range strings.Lines(text) {
		if exist && deletes.MatchString(line) && largestSpan(line) > 1<<18 {
			return "ipset del -exist would try millions of elements"
		}
		if m := hashSize.FindStringSubmatch(line); m != nil {
			n, err := strconv.ParseUint(m[1], 0, 64)
			if err == nil && n > 1<<20 && n < 1<<28 {
				return "a hash table of that size takes much memory"
			}
		}
		if m := maxElem.FindStringSubmatch(line); m != nil && len(m[1]) > 6 {
			return "a set of that size takes much memory"
		}
	}
	return ""
}

var (
	deletes  = regexp.MustCompile(`(^|\s|")(-D|(--)?d(el?)?)([\s"]|$)`)
	hashSize = regexp.MustCompile(`hashsize["\s]+(\w+)`)
	maxElem  = regexp.MustCompile(`maxelem["\s]+(\w+)`)
)

// sorts says that a run of ipset sorts elements.
func sorts(s *textStep) bool { return sorting.MatchString(strings.Join(s.Argv, " ") + "\n" + s.Stdin) }

var sorting = regexp.MustCompile(`(^|\s|")-?-s(orted)?([\s"]|$)`)

// largestSpan is the greatest number of addresses that a word stands for.
func largestSpan(text string) uint64 {
	most := uint64(0)
	for _, word := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(" \t\r\n,\"", c) }) {
		most = max(most, addressesOf(word))
	}
	return most
}

// addressesOf is the number of addresses of IPv4 that a word stands for.
func addressesOf(word string) uint64 {
	number := func(text string) (uint64, bool) {
		a, err := netip.ParseAddr(strings.Trim(text, "[]"))
		if err != nil || !a.Is4() {
			return 0, false
		}
		b := a.As4()
		return uint64(binary.BigEndian.Uint32(b[:])), true
	}
	if host, length, slash := strings.Cut(word, "/"); slash {
		n, err := strconv.ParseUint(length, 0, 8)
		if _, ok := number(host); !ok || err != nil || n > 32 {
			return 0
		}
		return 1 << (32 - n)
	}
	first, last, _ := strings.Cut(word, "-")
	a, okA := number(first)
	b, okB := number(last)
	if !okA || !okB {
		return 0
	}
	return max(a, b) - min(a, b)
}

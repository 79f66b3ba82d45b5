package peers

import (
	"bytes"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/proxier/nftables"
	"github.com/chainwalk/chainwalk/proxier/upstream/kubenft"
)

// sparingNFT leaves out of transactions the chains that stand as they would be written: kube-proxy's transactions write all of a chain.
type sparingNFT struct {
	look   exec.Interface
	family v1.IPFamily
	// written are the lines that chains were last filled by, sets those that declared sets, and stood the table as it was listed then.
	written map[string][]string
	sets    map[string]string
	stood   string
}

// rest is a transaction without chains that stand as they would be written; nil if only declarations of what is there are left.
func (s *sparingNFT) rest(input []byte) []byte {
	if len(s.written) == 0 || s.listed() != s.stood {
		s.written, s.sets = nil, nil
		return input
	}
	filled := chainLines(input)
	var out []string
	does := false
	for line := range strings.Lines(string(input)) {
		verb, object, chain := commandOf(line)
		if chain != "" && filled[chain] != nil && slices.Equal(filled[chain], s.written[chain]) {
			continue
		}
		out = append(out, line)
		name, set := setOf(line)
		does = does || verb != "add" || object == "rule" || object == "element" || object == "chain" && s.written[chain] == nil ||
			set && s.sets[name] != line // it may have another timeout now
	}
	if !does {
		return nil
	}
	return []byte(strings.Join(out, ""))
}

// ended notes what a transaction has written, if it was carried out.
func (s *sparingNFT) ended(input []byte, done bool) {
	if !done {
		s.written, s.sets = nil, nil
		return
	}
	if s.written == nil {
		s.written, s.sets = map[string][]string{}, map[string]string{}
	}
	for chain, lines := range chainLines(input) {
		s.written[chain] = lines
	}
	for line := range strings.Lines(string(input)) {
		verb, object, chain := commandOf(line)
		name, set := setOf(line)
		switch {
		case verb == "delete" && object == "chain":
			delete(s.written, chain)
		case verb == "delete" && set:
			delete(s.sets, name)
		case verb == "add" && set:
			s.sets[name] = line
		}
	}
	s.stood = s.listed()
}

// listed is the table as nft lists it, without elements, to which packets add; empty if there is none.
func (s *sparingNFT) listed() string {
	var out bytes.Buffer
	look := s.look.Command("nft", "--terse", "list", "table", nftables.Word(s.family), kubenft.Table)
	look.SetStdout(&out)
	if look.Run() != nil {
		return ""
	}
	return out.String()
}

// chainLines are the lines of a transaction that fill each chain which it empties first.
func chainLines(input []byte) map[string][]string {
	out := map[string][]string{}
	for line := range strings.Lines(string(input)) {
		switch verb, object, chain := commandOf(line); {
		case verb == "flush" && object == "chain":
			out[chain] = []string{line}
		case object == "rule" && out[chain] != nil:
			out[chain] = append(out[chain], line)
		}
	}
	return out
}

// setOf is the set that a line declares or deletes, if it is about one.
func setOf(line string) (name string, set bool) {
	words := strings.Fields(line)
	if len(words) > 4 && words[1] == "set" {
		return words[4], true
	}
	return "", false
}

// commandOf is what a line of a transaction does with what, and the chain, if it is about one or about its rules.
func commandOf(line string) (verb, object, chain string) {
	words := strings.Fields(line)
	if len(words) < 2 {
		return "", "", ""
	}
	if len(words) > 4 && (words[1] == "chain" || words[1] == "rule") {
		return words[0], words[1], words[4]
	}
	return words[0], words[1], ""
}

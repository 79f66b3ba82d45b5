package snapshot

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/chainwalk/chainwalk/fakekernel"
	"github.com/chainwalk/chainwalk/netfilter"
)

// ErrIsSnapshot is the error of a NodeSnapshot in the place of what iptables-save prints.
var ErrIsSnapshot = errors.New("is a NodeSnapshot, not what iptables-save prints")

// IsSave says whether a text is of iptables-save rather than YAML or JSON.
func IsSave(text []byte) bool {
	for line := range bytes.Lines(text) {
		line = bytes.TrimSpace(line)
		if len(line) > 0 && line[0] != '#' {
			return line[0] == '*' && !bytes.ContainsAny(line, " :")
		}
	}
	return false
}

// textsOf are the texts of a family, or of both if it is 0.
func textsOf(name, text string, family netfilter.Family) ([]fakekernel.SaveText, error) {
	if strings.Contains("\n"+text, "\nhostname:") && !IsSave([]byte(text)) {
		return nil, fmt.Errorf("%s %w", name, ErrIsSnapshot)
	}
	all := fakekernel.SaveTexts(text)
	if family == 0 {
		return all, nil
	}
	var texts []fakekernel.SaveText
	for _, t := range all {
		if t.Family == 0 || t.Family == family {
			texts = append(texts, t)
		}
	}
	if len(texts) == 0 {
		return nil, fmt.Errorf("%s has rules of IPv%d only (%s), and the packet is of IPv%d: add what %s prints", name, all[0].Family,
			all[0].String(), family, (&fakekernel.SaveText{Family: family}).String())
	}
	return texts, nil
}

// OfBackend leaves out the other backend where texts are of both, and reads as of the backend what does not say its own. An empty backend
// leaves all as they are.
func OfBackend(texts []fakekernel.SaveText, backend netfilter.Dialect) []fakekernel.SaveText {
	if backend == "" {
		return texts
	}
	var chosen []fakekernel.SaveText
	for _, t := range texts {
		if t.Dialect == backend || t.Dialect == "" {
			t.Dialect = backend
			chosen = append(chosen, t)
		}
	}
	if len(chosen) == 0 { // one backend's rules may be walked as if they were the other's
		for _, t := range texts {
			t.Dialect = backend
			chosen = append(chosen, t)
		}
	}
	return chosen
}

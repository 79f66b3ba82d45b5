package live

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/chainwalk/chainwalk/scenarios/spec/oracle"
)

// fateTolerance is what the chances of two fates may differ by and still be the same: iptables chooses by multiples of 2^-31, and a packet
// to the last of many endpoints is rounded once for each of them.
const fateTolerance = 1.0 / (1 << 26)

// distribution is the ends of a packet with their chances. Where a packet was dropped makes no difference, nor does the
// port that a node gives it.
type distribution map[string]float64

// distributionOf is the fates of the ways of a packet.
func distributionOf(ways []oracle.Way) distribution {
	out := distribution{}
	for i := range ways {
		out[fateOfWay(&ways[i])] += ways[i].Probability
	}
	return out
}

// unheardFate ends a fate of which the client gets no answer.
const unheardFate = ", and the client hears no answer"

// fateOfWay is how a way ends, for whoever looks from outside.
func fateOfWay(w *oracle.Way) string {
	text := string(w.End)
	switch w.End {
	case oracle.Delivered, oracle.Refused:
		text = fmt.Sprintf("%s by %s at %s", w.End, w.Host, w.Server)
		if w.Client.Addr() != w.Sender.Addr() {
			text += fmt.Sprintf(" as from %s", w.Client.Addr())
		}
	case oracle.Rejected:
		text = "rejected with " + w.With
	}
	if !w.Heard && w.End != oracle.Dropped && w.End != oracle.Lost {
		text += unheardFate
	}
	return text
}

// same says whether two fates are the same but for rounding.
func (f distribution) same(other distribution) bool {
	for text, chance := range f {
		if math.Abs(chance-other[text]) > fateTolerance {
			return false
		}
	}
	return len(f) == len(other)
}

// served says whether every way ends with a server whose answer the client hears.
func served(ways []oracle.Way) bool {
	for i := range ways {
		if ways[i].End != oracle.Delivered || !ways[i].Heard {
			return false
		}
	}
	return len(ways) > 0
}

// String is the fates in words.
func (f distribution) String() string {
	var out []string
	for _, text := range slices.Sorted(maps.Keys(f)) {
		if chance := f[text]; chance < 1-fateTolerance {
			text = fmt.Sprintf("%.4g %s", chance, text)
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// short is the first fate without addresses, as a part of a sentence.
func (f distribution) short() string {
	words := map[string]bool{}
	for text := range f {
		end, _, _ := strings.Cut(text, " ")
		if strings.HasSuffix(text, unheardFate) {
			words["clients hear no answer"] = true
			continue
		}
		words[map[string]string{
			"delivered": "a server gets such packets", "refused": "a host refuses them", "rejected": "a rule rejects them",
			"dropped": "a rule drops them", "lost": "they are lost",
		}[end]] = true
	}
	if len(f) == 0 {
		return "they are not sent"
	}
	return strings.Join(sorted(words), " or ")
}

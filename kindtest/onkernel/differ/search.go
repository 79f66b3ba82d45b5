package differ

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
	"time"
)

// Search is what is compared with this machine's kernel and tools. Every differential of it ends by whichever bound comes first.
type Search struct {
	// Seed begins what is drawn: the same seed draws the same.
	Seed uint64
	// Time is that of all differentials together.
	Time time.Duration
	// Rulesets and Packets bound a walk differential of one dialect and family: rulesets, and packets of each. Sessions of tools are bounded
	// by Rulesets too. 0: iptables is not compared.
	Rulesets, Packets int
	// Sessions is the number of sessions of nft, and NativeRulesets that of nft's tables of each family: as many stand alone, and half as
	// many beside rules of the legacy tools. However long that takes.
	Sessions, NativeRulesets int
	// Calls is the number of tool runs that the text differential of all tools compares, however long that takes; 0: as many as the time and
	// Rulesets allow.
	Calls int
	// ChanceCases is the number of rulesets with many draws each.
	ChanceCases int
	// Most is the number of disagreements after which a differential gives up.
	Most int
	// Favoured are names of pieces of rules, of which every second one is drawn where one fits.
	Favoured []string
	// Folder gets the shrunk cases of disagreements.
	Folder string
	// Verbose prints what each differential met and left out, of each dialect and family.
	Verbose bool
	// Tests has the events of "go test -json" whose tests and numbers are added up before; nil: none.
	Tests io.Reader
}

// Run makes the search, and prints what was compared. It holds if no test of Tests failed or was skipped, and nothing disagrees. An error
// says that it could not look: no Linux, not root, a tool that is missing.
func (s *Search) Run(ctx context.Context, out io.Writer) (held bool, err error) {
	start := time.Now()
	sum := &summary{out: out}
	if s.Tests != nil {
		if err := sum.read(s.Tests); err != nil {
			return false, err
		}
	}
	fits, err := s.compare(ctx, sum, out)
	if err != nil {
		return false, err
	}
	sum.print(time.Since(start))
	return fits && sum.held(s.Tests != nil), nil
}

// read adds up events.
func (s *summary) read(events io.Reader) error {
	lines := bufio.NewReader(events)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			if err := s.add(strings.TrimSuffix(line, "\n")); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

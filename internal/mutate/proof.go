package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

// proof says how the rulesets that a proxier writes with a mutant compare with those that it writes without it, at the end of generated
// cases.
type proof struct {
	rulesets, otherwise int
	apart               []string // packets that are treated otherwise, with both fates
}

// String says what holds of these rulesets. Of others it proves nothing.
func (p *proof) String() string {
	if len(p.apart) > 0 {
		return fmt.Sprintf("%d of %d rulesets treat some packet otherwise: %s", len(p.apart), p.rulesets, p.apart[0])
	}
	return fmt.Sprintf("equivalent over all first packets of %d rulesets, %d of them written otherwise", p.rulesets, p.otherwise)
}

// add adds what the program has written about one ruleset. The words are those of scenarios/search/trial.
func (p *proof) add(line string) error {
	end, more, _ := strings.Cut(line, " ")
	switch end {
	case "alike":
	case "otherwise":
		p.otherwise++
	case "apart":
		p.apart = append(p.apart, more)
	default:
		return fmt.Errorf("%q is not the end of a comparison", line)
	}
	p.rulesets++
	return nil
}

// compare runs the program with the mutant once more, and has it compare what it writes with what it writes without the mutant.
func (p *program) compare(ctx context.Context, number int, to *proof) (err error) {
	f, err := os.CreateTemp(p.dir, "compared")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close(), os.Remove(f.Name())) }()
	took, _ := p.cost(number)
	most := limits{cpu: spareCPU + 4*tooLong*took.cpu, idle: spareIdle + 4*tooLong*took.wall}
	output, _, err := limited(ctx, p.argv, p.dir, append(having(number), compared+"="+f.Name()), most)
	if err != nil {
		return fmt.Errorf("%s: comparing packets: %w\n%s", p.name, err, output)
	}
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if err := to.add(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

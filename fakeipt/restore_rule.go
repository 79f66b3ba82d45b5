package fakeipt

import (
	"bytes"
	"errors"

	"github.com/chainwalk/chainwalk/fakeipt/target"
	"github.com/chainwalk/chainwalk/fakeipt/xtables"
	"github.com/chainwalk/chainwalk/netfilter"
)

// rule acts on a line that is a command.
func (r *restorer) rule(line []byte) error {
	w := &r.parser.args
	w.Reset()
	column := 1
	if line[0] == '[' {
		var err error
		if line, column, err = r.ruleCounters(line); err != nil {
			return err
		}
	}
	r.dump.nextLine(r.line, len(w.Words))
	if err := w.Add(line, column); err != nil {
		return err
	}
	cmd, err := r.parser.parse()
	if err != nil || r.late != nil {
		return err
	}
	if cmd.ignore {
		return r.ignored(cmd)
	}
	r.x.edit.Line = r.line
	if r.tellAll() {
		cmd.verbose++
	}
	if err := r.x.run(cmd); err != nil {
		err = r.placeAtWord(err, cmd)
		if r.kernel.dialect == netfilter.Legacy {
			err = errors.Join(err, r.flushOutput())
		}
		if _, usage := xtables.AsProblem(err); usage || r.kernel.dialect == netfilter.Legacy {
			return err
		}
		return r.delay(err)
	}
	if r.kernel.dialect == netfilter.NFT {
		// These tools run the commands when they commit.
		return nil
	}
	return r.flushOutput()
}

// ignored is a rule for the other family. The legacy tools look for its target all the same.
func (r *restorer) ignored(cmd *command) error {
	if r.kernel.dialect == netfilter.NFT || target.Find(cmd.spec.jump, r.parser.family) != nil {
		return nil
	}
	_, err := r.x.target(&ruleSpec{jump: cmd.spec.jump, target: cmd.spec.target})
	if _, usage := xtables.AsProblem(err); usage {
		return err
	}
	return nil
}

// ruleCounters takes the leading "[PACKETS:BYTES]" off a line; with -c it becomes an option. The tool looks for the colon in the whole
// line, and then for the end of the bytes, and cuts the line at what it finds.
func (r *restorer) ruleCounters(line []byte) (rest []byte, column int, err error) {
	end := bytes.IndexByte(line, ']')
	packets, behind, ok := bytes.Cut(bytes.TrimLeft(line[1:], ":"), []byte(":"))
	count, after, _ := bytes.Cut(bytes.TrimLeft(behind, "]"), []byte("]"))
	if end < 0 || !ok || len(count) == 0 {
		return nil, 0, xtables.BadParameter("Bad line %d: need ]", r.line)
	}
	if r.counters {
		w := &r.parser.args
		w.Words = append(w.Words, setCountersOption, packets, count)
		w.Columns = append(w.Columns, 1, 2, 3+len(packets))
	}
	stop := len(line)
	for _, cut := range [...]int{len(line) - len(behind) - 1, len(line) - len(after) - 1} {
		if cut > end {
			stop = min(stop, cut)
		}
	}
	return line[end+1 : stop], end + 2, nil
}

var setCountersOption = []byte("-c")

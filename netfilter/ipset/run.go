package ipset

import "bufio"

// run is one run of ipset: one command, or the lines of restore or of the shell.
type run struct {
	*Tool
	*session
	parser parser
	kernel *kernel
	batch  batch
	output output

	in      *bufio.Reader // the standard input
	reached int           // the line of restore that was read last, 0: none
}

func (t *Tool) newRun() *run {
	s := &session{stderr: t.Stderr}
	k := &kernel{Tool: t, session: s, checked: map[*setType]bool{}}
	return &run{
		Tool:    t,
		session: s,
		parser:  parser{s},
		kernel:  k,
		batch:   batch{kernel: k},
		output:  output{Tool: t, session: s},
		in:      bufio.NewReader(t.Stdin),
	}
}

// send carries the command out that the message says (ipset_cmd).
func (r *run) send(c command) error {
	b := &r.batch
	if !b.takes(c) {
		if err := b.commit(); err != nil {
			return err
		}
	}
	b.sent = c
	if err := r.complete(c); err != nil {
		b.begun = true
		return err
	}
	if r.line != 0 && c.changes() {
		return b.aggregate(c)
	}
	defer func() { r.message = message{} }()
	m := r.message
	switch c {
	case cmdList, cmdSave:
		return r.list(c, &m)
	case cmdTest:
		return r.kernel.test(&m)
	}
	return r.kernel.do(c, &m)
}

// version is what the tool says its version is.
const version = "v7.17"

const protocol = 7

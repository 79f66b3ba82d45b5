package ipset

import (
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt/internal/libc"
)

// chosen are the sets that list and save are about.
func (t *run) chosen(w *wordReader) ([]*set, error) {
	if len(w.words) > 0 {
		s, err := t.sentSet(w)
		return []*set{s}, err
	}
	if err := t.commit(); err != nil {
		return nil, err
	}
	t.Sets.lock.RLock()
	defer t.Sets.lock.RUnlock()
	return t.Sets.dumped(), nil
}

func (t *run) list(w *wordReader) error {
	sets, err := t.chosen(w)
	if err != nil {
		return err
	}
	t.keepOutput("plain")
	switch t.output {
	case "save":
		return t.print(t.appendSaved(nil, sets))
	case "xml":
		return t.print(t.appendXML(nil, sets))
	}
	references := t.references()
	var text []byte
	for i, s := range sets {
		if t.namesOnly {
			text = append(append(text, s.name...), '\n')
			continue
		}
		if i > 0 {
			text = append(text, '\n')
		}
		text = t.appendListed(text, s, references[s.name])
	}
	return t.print(text)
}

// keepOutput settles how sets are printed, if no option has: the first list or save of a restore decides for all.
func (t *run) keepOutput(mode string) {
	if t.output == "" {
		t.output = mode
	}
}

func (t *run) appendListed(dst []byte, s *set, references int) []byte {
	table := t.Sets
	table.lock.Lock()
	defer table.lock.Unlock()
	keys := s.liveKeys(t.sorted)
	dst = fmt.Appendf(dst, "Name: %s\nType: %s\nRevision: %d\nHeader:", s.name, s.kind.name, s.kind.revision)
	dst = fmt.Appendf(appendFields(dst, s.header()), "\nSize in memory: %d\nReferences: %d\nNumber of entries: %d\n",
		s.memory(), references, len(keys))
	switch {
	case !t.headersOnly:
		dst = append(dst, "Members:\n"...)
	case !t.saving:
		return dst
	}
	for _, k := range keys {
		dst = append(s.appendEntry(dst, k), '\n')
	}
	return dst
}

func (t *run) save(w *wordReader) error {
	if t.output == "plain" || t.output == "xml" {
		t.saving = true
		defer func() { t.saving = false }()
		return t.list(w)
	}
	sets, err := t.chosen(w)
	if err != nil {
		return err
	}
	t.keepOutput("save")
	return t.print(t.appendSaved(nil, sets))
}

// appendSaved appends the sets as input of restore.
func (t *run) appendSaved(dst []byte, sets []*set) []byte {
	t.Sets.lock.Lock()
	defer t.Sets.lock.Unlock()
	for _, s := range sets {
		dst = s.appendSave(dst, t.sorted)
	}
	return dst
}

// print writes to the standard output or the file of -f.
func (t *run) print(text []byte) error {
	if t.file == "" {
		_, err := t.Stdout.Write(text)
		return err
	}
	if err := t.WriteFile(t.file, text, 0o644); err != nil {
		return errorf("Cannot open %s for writing: %s", t.file, libc.FileErrorText(err))
	}
	return nil
}

package toolstate

import (
	"errors"
	"fmt"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
	"github.com/chainwalk/chainwalk/internal/statefolder"
	"github.com/chainwalk/chainwalk/netfilter"
)

// part is one file of the state: the rules of a family and a dialect, or the objects.
type part struct {
	family  netfilter.Family // 0: the objects
	dialect netfilter.Dialect
}

var objects = part{}

// name is the part's file name.
func (p part) name() string {
	if p == objects {
		return "objects"
	}
	return fmt.Sprintf("ipv%d-%s", p.family, p.dialect)
}

// formatVersion is the version of the format.
const formatVersion = 2

// folder is where the parts are.
func (s *Store) folder() statefolder.Folder {
	return statefolder.Folder{Path: s.dir, Elsewhere: Elsewhere}
}

// path is the part's file.
func (s *Store) path(p part) string { return s.folder().File(p.name()) }

// write replaces a part. The caller holds the lock.
func (s *Store) write(p part, body []byte) error {
	return s.folder().Write(p.name(), formatVersion, body)
}

// setAside puts an unusable part aside, and returns what is to be said of it.
func (s *Store) setAside(p part, why *statefolder.Unusable) (string, error) {
	left := "rules"
	if p == objects {
		left = "sets and accounting objects"
	}
	return s.folder().SetAside(p.name(), why, left)
}

// load fills a kernel with a part: with no more than what is looked at, and then others are the rest.
func (s *Store) load(k *fakeipt.Kernel, p part, look view) (others otherTables, err error) {
	if rs := s.known.ruleset(s.path(p), p); rs != nil {
		return others, k.Adopt(rs)
	}
	body, err := s.folder().Read(p.name(), formatVersion)
	if err != nil || body == nil {
		return others, err
	}
	if p == objects {
		return others, asUnusable(k.ReadObjects(body))
	}
	tables, err := ruleset.StateTables(body)
	if err != nil {
		return others, asUnusable(err)
	}
	if s.known != nil {
		look = view{}
	}
	tables, others = look.of(tables)
	if err := k.ReadState(p.family, tables, look.chains); err != nil {
		return otherTables{}, asUnusable(err)
	}
	if s.known != nil {
		s.known.keep(s.path(p), p, k.Ruleset(p.family))
	}
	return others, nil
}

// asUnusableFile says whether an error of reading a part is about what it says, and not about the folder.
func asUnusableFile(err error) bool {
	var unusable *statefolder.Unusable
	return errors.As(err, &unusable)
}

// asUnusable is an error of reading what was stored.
func asUnusable(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ruleset.ErrOtherState):
		return &statefolder.Unusable{Why: "another version of chainwalk has written it"}
	}
	return &statefolder.Unusable{Why: err.Error()}
}

// body is a part of a kernel as it is written.
func body(k *fakeipt.Kernel, p part) []byte {
	if p == objects {
		return k.AppendObjects(nil)
	}
	return k.AppendState(nil, p.family)
}

package toolstate

import (
	"os"
	"sync"

	"github.com/chainwalk/chainwalk/fakeipt/ruleset"
)

// knownRulesets are what the files of rules say, as tools of this process have found or left them. To read the rules of a large node takes
// far longer than what most tools do with them.
type knownRulesets struct {
	lock  sync.Mutex
	parts map[part]knownRuleset
}

// knownRuleset is what a file said.
type knownRuleset struct {
	file    os.FileInfo
	ruleset *ruleset.Ruleset
}

// ruleset is what the file says, nil if that is not known: it is another file now, or has changed. The caller holds the state's lock.
func (k *knownRulesets) ruleset(path string, p part) *ruleset.Ruleset {
	if k == nil {
		return nil
	}
	now, err := os.Stat(path)
	if err != nil {
		return nil
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	was, ok := k.parts[p]
	if !ok || !os.SameFile(was.file, now) || was.file.Size() != now.Size() || !was.file.ModTime().Equal(now.ModTime()) {
		return nil
	}
	return was.ruleset
}

// keep notes what the file says. The caller holds the state's lock.
func (k *knownRulesets) keep(path string, p part, rs *ruleset.Ruleset) {
	if k == nil {
		return
	}
	k.lock.Lock()
	defer k.lock.Unlock()
	delete(k.parts, p)
	if file, err := os.Stat(path); err == nil {
		k.parts[p] = knownRuleset{file, rs}
	}
}

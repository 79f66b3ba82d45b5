package toolstate

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/utils/clock"
	"k8s.io/utils/exec"

	"github.com/chainwalk/chainwalk/fakeipt"
	"github.com/chainwalk/chainwalk/netfilter"
)

// Store is the folder with the state of the tools.
type Store struct {
	// dir is made if it is not there.
	dir string
	// dialect is that of tools whose name does not say theirs.
	dialect netfilter.Dialect
	// lockFile is the lock of the legacy tools; "" is xtables.lock in dir.
	lockFile string
	// etc has the files in which names are looked up.
	etc fs.FS
	// clock dates the output of iptables-save and measures waiting. Default: the real clock.
	clock clock.Clock
	// known is what tools of the same process have read or written before. Nil: nothing is kept.
	known *knownRulesets
}

// Elsewhere is what to do about a folder that may not be written, behind an error.
const Elsewhere = "; set " + envState + " to a folder that can be written"

// The environment variables that FromEnvironment reads.
const (
	envState    = "CHAINWALK_STATE"
	envTools    = "CHAINWALK_TOOLS"
	envLockFile = "XTABLES_LOCKFILE"
)

// New returns the store in the folder dir, which is made when a tool first leaves something there. The dialect is that of tools whose name
// does not say theirs; names are looked up in etc (fakeipt.Options.Etc).
func New(dir string, dialect netfilter.Dialect, etc fs.FS) *Store {
	return &Store{dir: dir, dialect: dialect, etc: etc}
}

// FromEnvironment returns the store that the environment asks for: CHAINWALK_STATE is the folder, by default
// chainwalk/state in the user's cache folder; CHAINWALK_TOOLS is legacy (the default) or nft; XTABLES_LOCKFILE is the
// lock of the legacy tools. Names are looked up in the files of this machine's /etc.
func FromEnvironment() (*Store, error) {
	s := &Store{dir: os.Getenv(envState), lockFile: os.Getenv(envLockFile), etc: os.DirFS("/etc")}
	switch tools := os.Getenv(envTools); tools {
	case "", "legacy":
	case "nft":
		s.dialect = netfilter.NFT
	default:
		return nil, fmt.Errorf("%s is %q: want legacy or nft", envTools, tools)
	}
	if s.dir == "" {
		cache, err := os.UserCacheDir()
		if err != nil {
			return nil, fmt.Errorf("no folder for the state of the tools: set %s: %w", envState, err)
		}
		s.dir = filepath.Join(cache, "chainwalk", "state")
	}
	return s, nil
}

// Dir is the folder.
func (s *Store) Dir() string { return s.dir }

// Exec returns the tools as programs that can be run. What one of them has read or written the next one need not read again, as long as
// nobody else has changed the file.
func (s *Store) Exec() exec.Interface {
	remembering := *s
	remembering.known = &knownRulesets{parts: map[part]knownRuleset{}}
	return fakeipt.ExecOver(&remembering, IsTool)
}

// IsTool says whether a program of that name is one of the tools. A folder in front of the name does not matter.
func IsTool(name string) bool {
	for _, d := range []netfilter.Dialect{netfilter.Legacy, netfilter.NFT} {
		if _, err := fakeipt.New(fakeipt.Options{Dialect: d}).Exec().LookPath(name); err == nil {
			return true
		}
	}
	return false
}

// dialectOf is the dialect that a tool's name asks for.
func (s *Store) dialectOf(name string) netfilter.Dialect {
	base := filepath.Base(name)
	switch {
	case strings.HasPrefix(base, "iptables-nft"), strings.HasPrefix(base, "ip6tables-nft"):
		return netfilter.NFT
	case strings.HasPrefix(base, "iptables-legacy"), strings.HasPrefix(base, "ip6tables-legacy"):
		return netfilter.Legacy
	}
	return s.dialect
}

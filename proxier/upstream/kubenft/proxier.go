package kubenft

import (
	"context"
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/kubernetes/pkg/proxy/nftables"
	proxyutil "k8s.io/kubernetes/pkg/proxy/util"
	"k8s.io/utils/exec"
	"sigs.k8s.io/knftables"
)

// Config is what kube-proxy's proxier of one family is given.
type Config struct {
	Family            v1.IPFamily
	NodeName          string
	NodeIP            netip.Addr
	Detector          proxyutil.LocalTrafficDetector
	MasqueradeAll     bool
	MasqueradeBit     int
	NodePortAddresses []string // ranges; none: all addresses. Its server puts the Node's own addresses there if nobody says otherwise.
	SyncPeriod        time.Duration
}

// New sets up the proxier on the program nft that PATH has, as kube-proxy does.
func New(c *Config) (*nftables.Proxier, error) { return c.newProxier() }

// NewOver sets up the proxier over the given nft.
func NewOver(c *Config, programs exec.Interface) (*nftables.Proxier, knftables.Interface, error) {
	tables, err := tablesOf(c.Family, programs)
	if err != nil {
		return nil, nil, err
	}
	var p *nftables.Proxier
	if err := asIfThere(func() (err error) {
		p, err = c.newProxier()
		return err
	}); err != nil {
		return nil, nil, err
	}
	return p, tables, nil
}

// CleanupOver does what kube-proxy's cleanup of mode nftables does (nftables.CleanupLeftovers), with the given nft: it deletes the tables
// that are there.
func CleanupOver(ctx context.Context, programs exec.Interface) error {
	for _, family := range []v1.IPFamily{v1.IPv4Protocol, v1.IPv6Protocol} {
		tables, err := tablesOf(family, programs)
		if err != nil {
			return err
		}
		transaction := tables.NewTransaction()
		transaction.Delete(&knftables.Table{})
		if err := tables.Run(ctx, transaction); err != nil && !knftables.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// path guards PATH, which is the whole process's.
var path sync.Mutex

// asIfThere runs a constructor that asks the program nft of PATH whether it is there. Until the constructor ends, the program true stands
// in for it, which says yes to everything: what it is asked then, tablesOf has asked the right nft.
func asIfThere(construct func() error) (err error) {
	standIn, err := exec.New().LookPath("true")
	if err != nil {
		return err
	}
	folder, err := os.MkdirTemp("", "chainwalk-nft")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	if err := os.Symlink(standIn, filepath.Join(folder, "nft")); err != nil {
		return err
	}
	path.Lock()
	defer path.Unlock()
	before := os.Getenv("PATH")
	if err := os.Setenv("PATH", folder+string(filepath.ListSeparator)+before); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.Setenv("PATH", before)) }()
	return construct()
}

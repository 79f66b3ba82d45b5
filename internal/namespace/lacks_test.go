package namespace

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMissingNamesThePackage(t *testing.T) {
	nothing := func(string) (string, error) { return "", exec.ErrNotFound }
	all := func(tool string) (string, error) { return "/sbin/" + tool, nil }
	assert.Empty(t, missing("linux", 0, all, []string{"ip"}))
	assert.Equal(t, []string{"the system is plan9 and not Linux", "not root"}, missing("plan9", 1000, all, []string{"ip"}))
	assert.Equal(t, []string{
		"no ip (install iproute2)", "no ip6tables-nft-save (install iptables)", "no nft (install nftables)", "no ipset (install ipset)",
	}, missing("linux", 0, nothing, []string{"ip", "ip6tables-nft-save", "nft", "ipset"}))
}

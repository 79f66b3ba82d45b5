package forall_test

import (
	"net/netip"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim"
	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

// fileHost is a host with the rules of a file.
func fileHost(t testing.TB, file string) *packetsim.Host {
	t.Helper()
	r, err := os.Open(file)
	require.NoError(t, err)
	defer func() { assert.NoError(t, r.Close()) }()
	h, err := snapshot.HostOfSave(file, r, snapshot.RulesOptions{Devices: []string{"veth1", "cni0"},
		Local: []netip.Addr{netip.MustParseAddr("172.18.0.3"), netip.MustParseAddr("fd00::3")}})
	require.NoError(t, err)
	return h
}

func TestFatesOfRecordedNFTables(t *testing.T) {
	for _, file := range []string{"kube-proxy-1.36.nft", "firewalld.nft"} {
		t.Run(file, func(t *testing.T) { agrees(t, fileHost(t, "testdata/"+file), 1000) })
	}
}

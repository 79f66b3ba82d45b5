package forall_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/packetsim/snapshot"
)

func TestNFTFiles(t *testing.T) {
	files, _ := filepath.Glob(os.Getenv("NFTFILES"))
	for _, file := range files {
		t.Run(filepath.Base(filepath.Dir(file)), func(t *testing.T) {
			r, err := os.Open(file)
			require.NoError(t, err)
			h, err := snapshot.HostOfSave(file, r, snapshot.RulesOptions{Local: []netip.Addr{netip.MustParseAddr("172.18.0.3"),
				netip.MustParseAddr("fd00::3")}, Devices: []string{"veth1", "cni0", "docker0"}})
			require.NoError(t, err)
			agrees(t, h, 3000)
		})
	}
}

package nftables_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/chainwalk/chainwalk/netfilter/nftables"
)

// TestUserData has what the kernel keeps for nft 1.0.6.
func TestUserData(t *testing.T) {
	for _, row := range []struct {
		kind nftables.UserDataKind
		data string
		want nftables.UserData
	}{
		{nftables.TableUserData, "\x00\x03tc\x00", nftables.UserData{Comment: "tc", HasComment: true}},
		{nftables.RuleUserData, "\x00\x04abc\x00", nftables.UserData{Comment: "abc", HasComment: true}},
		{nftables.ElementUserData, "\x00\x03ec\x00\x01\x04\x01\x00\x00\x00",
			nftables.UserData{Comment: "ec", HasComment: true, ElementFlags: 1}},
		{nftables.SetUserData, "\x00\x04\x02\x00\x00\x00\x02\x04\x01\x00\x00\x00\x07\x03sc\x00",
			nftables.UserData{Comment: "sc", HasComment: true,
				Set: &nftables.SetUserFields{KeyByteorder: nftables.UserDataNetwork, MergeElements: true}}},
		{nftables.SetUserData, "\x00\x04\x02\x00\x00\x00\x01\x04\x02\x00\x00\x00\x06\x04\x01\x00\x00\x00",
			nftables.UserData{Set: &nftables.SetUserFields{KeyByteorder: 2, IsMap: true, DataByteorder: 2, DataInterval: true}}},
		{nftables.SetUserData, "\x00\x04\x02\x00\x00\x00\x03\x14\x00\x04\x07\x00\x00\x00\x01\x0c\x00\x04\x0c\x00\x00\x00\x01\x04\x0b\x00\x00\x00",
			nftables.UserData{Set: &nftables.SetUserFields{KeyByteorder: 2,
				KeyTypeof: []byte("\x00\x04\x07\x00\x00\x00\x01\x0c\x00\x04\x0c\x00\x00\x00\x01\x04\x0b\x00\x00\x00")}}},
	} {
		assert.Equal(t, row.data, string(row.want.Encode(row.kind)))
		assert.Equal(t, &row.want, nftables.DecodeUserData(row.kind, []byte(row.data)))
	}
	for _, odd := range []string{"", "\x00", "\x00\xff", "\x00\x00", "\x09\x01x", "\x00\x02"} {
		for kind := nftables.TableUserData; kind <= nftables.ObjectUserData; kind++ {
			assert.Empty(t, nftables.DecodeUserData(kind, []byte(odd)).Comment)
		}
	}
}

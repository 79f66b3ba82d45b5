package nftrace

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/chainwalk/chainwalk/internal/nfnetlink"
	"github.com/chainwalk/chainwalk/internal/nlattr"
	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
	"github.com/chainwalk/chainwalk/packetsim"
)

func TestParse(t *testing.T) {
	b := nlattr.Append(nil, unix.NFTA_TRACE_TABLE, []byte("nat\x00")...)
	b = nlattr.Append(b, unix.NFTA_TRACE_CHAIN, []byte("PREROUTING\x00")...)
	b = nlattr.Append(b, unix.NFTA_TRACE_RULE_HANDLE, 0, 0, 0, 0, 0, 0, 1, 2)
	b = nlattr.AppendUint32(b, unix.NFTA_TRACE_TYPE, unix.NFT_TRACETYPE_RULE)
	b = nlattr.AppendUint32(b, unix.NFTA_TRACE_ID, 77)
	b = nlattr.Append(b, unix.NFTA_TRACE_NETWORK_HEADER, 0x45, 1)
	b = nlattr.Append(b, unix.NFTA_TRACE_TRANSPORT_HEADER, 2, 3)
	b = nlattr.AppendUint32(b, unix.NFTA_TRACE_IIF, 4)
	b = nlattr.AppendUint32(b, unix.NFTA_TRACE_OIF, 5)
	b = nlattr.AppendUint32(b, unix.NFTA_TRACE_MARK, 6)
	b = nlattr.AppendNested(b, unix.NFTA_TRACE_VERDICT, func(dst []byte) []byte {
		dst = nlattr.AppendUint32(dst, unix.NFTA_VERDICT_CODE, 0xfffffffc)
		return nlattr.Append(dst, unix.NFTA_VERDICT_CHAIN, []byte("service\x00")...)
	})
	r, isTrace, err := Parse(nfnetlink.Message{Kind: kindTrace, Family: unix.NFPROTO_INET, Attributes: b})
	require.NoError(t, err)
	assert.True(t, isTrace)
	assert.Equal(t, Report{
		PacketID: 77, Family: unix.NFPROTO_INET, Table: "nat", Chain: "PREROUTING", Kind: packetsim.StepRule, Handle: 258,
		Header: []byte{0x45, 1, 2, 3}, In: 4, Out: 5, Mark: 6,
		Verdict: expr.Verdict{Code: expr.Goto, Chain: "service"},
	}, r)

	_, isTrace, err = Parse(nfnetlink.Message{Kind: kindNewRule, Attributes: b})
	require.NoError(t, err)
	assert.False(t, isTrace)
	_, _, err = Parse(nfnetlink.Message{Kind: kindTrace, Attributes: nlattr.Append(nil, unix.NFTA_TRACE_ID, 1)})
	require.ErrorIs(t, err, nlattr.ErrMessage)
	_, _, err = Parse(nfnetlink.Message{Kind: kindTrace, Attributes: nlattr.Append(nil, unix.NFTA_TRACE_TRANSPORT_HEADER, 1)})
	require.Error(t, err)
	short := nlattr.AppendNested(nil, unix.NFTA_TRACE_VERDICT, func(dst []byte) []byte {
		return nlattr.Append(dst, unix.NFTA_VERDICT_CODE, 1)
	})
	_, _, err = Parse(nfnetlink.Message{Kind: kindTrace, Attributes: short})
	require.ErrorIs(t, err, nlattr.ErrMessage)
}

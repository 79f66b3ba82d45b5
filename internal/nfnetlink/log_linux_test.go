package nfnetlink

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/chainwalk/chainwalk/internal/nlattr"
)

func TestParseLog(t *testing.T) {
	b := nlattr.Append(nil, logPrefix, []byte("TRACE: nat:POSTROUTING:policy:2 \x00")...)
	b = nlattr.Append(b, logPayload, 0x45, 1)
	b = nlattr.AppendUint32(b, logMark, 4)
	b = nlattr.AppendUint32(b, logInDevice, 5)
	b = nlattr.AppendUint32(b, logOutDevice, 6)
	r, isLog, err := ParseLog(Message{Kind: logPacket, Attributes: b})
	require.NoError(t, err)
	assert.True(t, isLog)
	assert.Equal(t, LogReport{Prefix: "TRACE: nat:POSTROUTING:policy:2", Packet: []byte{0x45, 1}, Mark: 4, In: 5, Out: 6}, r)
	step, isStep := r.Step()
	assert.True(t, isStep)
	assert.Equal(t, "nat:POSTROUTING:policy:2", step)

	r.Prefix = "dropped"
	_, isStep = r.Step()
	assert.False(t, isStep)
	_, isLog, err = ParseLog(Message{Kind: logConfig, Attributes: b})
	require.NoError(t, err)
	assert.False(t, isLog)
	_, _, err = ParseLog(Message{Kind: logPacket, Attributes: nlattr.Append(nil, logMark, 1)})
	require.ErrorIs(t, err, nlattr.ErrMessage)
}

package inet

import "strconv"

// SCTPChunk is one chunk of an SCTP packet, as far as conntrack looks at it.
type SCTPChunk struct {
	Type  SCTPChunkType
	Flags uint8
	// InitTag is the initiate tag of an INIT or INIT ACK; 0 is one that is not known.
	InitTag uint32
}

// SCTPChunkType is the type of a chunk, with its value on the wire.
type SCTPChunkType uint8

// The chunk types that conntrack knows, and those that data is made of.
const (
	SCTPData             SCTPChunkType = 0
	SCTPInit             SCTPChunkType = 1
	SCTPInitAck          SCTPChunkType = 2
	SCTPSack             SCTPChunkType = 3
	SCTPHeartbeat        SCTPChunkType = 4
	SCTPHeartbeatAck     SCTPChunkType = 5
	SCTPAbort            SCTPChunkType = 6
	SCTPShutdown         SCTPChunkType = 7
	SCTPShutdownAck      SCTPChunkType = 8
	SCTPError            SCTPChunkType = 9
	SCTPCookieEcho       SCTPChunkType = 10
	SCTPCookieAck        SCTPChunkType = 11
	SCTPShutdownComplete SCTPChunkType = 14
)

var sctpChunkNames = map[SCTPChunkType]string{
	SCTPData: "DATA", SCTPInit: "INIT", SCTPInitAck: "INIT_ACK", SCTPSack: "SACK", SCTPHeartbeat: "HEARTBEAT",
	SCTPHeartbeatAck: "HEARTBEAT_ACK", SCTPAbort: "ABORT", SCTPShutdown: "SHUTDOWN", SCTPShutdownAck: "SHUTDOWN_ACK",
	SCTPError: "ERROR", SCTPCookieEcho: "COOKIE_ECHO", SCTPCookieAck: "COOKIE_ACK", SCTPShutdownComplete: "SHUTDOWN_COMPLETE",
}

// String is the type's name as "-m sctp --chunk-types" spells it, or its number.
func (t SCTPChunkType) String() string {
	if name, ok := sctpChunkNames[t]; ok {
		return name
	}
	return strconv.Itoa(int(t))
}

// SCTPReflected is the T flag of ABORT and SHUTDOWN COMPLETE: the tag is the sender's own, reflected.
const SCTPReflected = 1

// Size is the length of the chunk with the fixed fields of its type.
func (c SCTPChunk) Size() int {
	switch c.Type {
	case SCTPInit, SCTPInitAck:
		return 20
	case SCTPData, SCTPSack:
		return 16
	case SCTPShutdown:
		return 8
	}
	return 4
}

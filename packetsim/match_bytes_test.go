package packetsim

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMatchU32(t *testing.T) {
	const get = tcpHTTP + " seq 1 payload 474554202f"
	checkMatches(t, []matchRow{
		{`-m u32 --u32 "6&0xff=6"`, tcpHTTP, true},
		{`-m u32 ! --u32 "6&0xff=6"`, tcpHTTP, false},
		{`-m u32 --u32 "0&0xffff=40"`, tcpHTTP, true},
		{`-m u32 --u32 "4&0x3fff=0"`, tcpHTTP, true},
		{`-m u32 --u32 "5&0xff=62:63"`, tcpHTTP, true}, // TTL
		{`-m u32 --u32 "5&0xff=1:5,60,62:63"`, tcpHTTP + " ttl 9", false},
		{`-m u32 --u32 "0>>22&0x3c@0&0xffff=80"`, tcpHTTP, true},
		{`-m u32 --u32 "0>>22&0x3c@0>>16=0:65535"`, tcpHTTP, true},
		{`-m u32 --u32 "0>>22&0x3c@12>>26&0x3c@0=0x47455420"`, get, true},
		{`-m u32 --u32 "0>>22&0x3c@12>>26&0x3c@1=0x4554202f"`, get, true},
		{`-m u32 --u32 "0>>22&0x3c@12>>26&0x3c@2=0x4554202f"`, get, false}, // beyond the end
		{`-m u32 --u32 "12=0x0af4000b&&16=0x0af4000c"`, "udp 10.244.0.11:1 > 10.244.0.12:2 in veth1", true},
		{`-m u32 --u32 "12=0x0af4000b&&16=0x0af4000d"`, "udp 10.244.0.11:1 > 10.244.0.12:2 in veth1", false},
	})
}

func TestMatchString(t *testing.T) {
	const get = "udp 10.244.0.11:1 > 10.244.0.12:2 in veth1 payload 474554202f"
	checkMatches(t, []matchRow{
		{"-m string --algo bm --string GET", get, true},
		{"-m string --algo kmp --string GET", get, true},
		{"-m string --algo bm ! --string GET", get, false},
		{"-m string --algo bm --string get", get, false},
		{"-m string --algo bm --string get --icase", get, true},
		{"-m string --algo bm --string GET --from 28", get, true},
		{"-m string --algo bm --string GET --from 29", get, false},
		{"-m string --algo bm --string GET --to 31", get, true},
		{"-m string --algo bm --string GET --to 30", get, false},
		{"-m string --algo bm --hex-string |0af4000c|", get, true}, // an address
		{"-m string --algo bm --string GET", "udp 10.244.0.11:1 > 10.244.0.12:2 in veth1 payload none", false},
		{"-m string --algo bm --string GET", tcpHTTP + " seq 1", false},
	})
}

func TestMatchBPF(t *testing.T) {
	const get = "udp 10.244.0.11:1 > 10.244.0.12:2 in veth1 payload 474554202f"
	for _, row := range []struct {
		name, program, packet string
		want                  bool
	}{
		{"protocol", "4,48 0 0 9,21 0 1 17,6 0 0 1,6 0 0 0", get, true},
		{"another protocol", "4,48 0 0 9,21 0 1 6,6 0 0 1,6 0 0 0", get, false},
		{"port behind the header", "5,177 0 0 0,72 0 0 2,21 0 1 2,6 0 0 65535,6 0 0 0", get, true},
		{"beyond the end", "2,32 0 0 30,6 0 0 1", get, false},
		{"at the end", "2,32 0 0 29,22 0 0 0", get, true},
		{"length", "4,128 0 0 0,21 0 1 33,6 0 0 1,6 0 0 0", get, true},
		{"mark", "4,32 0 0 4294963220,21 0 1 7,6 0 0 1,6 0 0 0", get + " mark 7", true},
		{"Ethernet protocol", "4,40 0 0 4294963200,21 0 1 2048,6 0 0 1,6 0 0 0", get, true},
		{"bits", "4,40 0 0 6,69 0 1 8191,6 0 0 1,6 0 0 0", get, false},
		{"memory", "7,0 0 0 5,2 0 0 3,0 0 0 1,96 0 0 3,21 0 1 5,6 0 0 1,6 0 0 0", get, true},
		{"arithmetic", "9,0 0 0 5,36 0 0 7,4 0 0 1,20 0 0 2,52 0 0 4,148 0 0 5,21 0 1 3,6 0 0 1,6 0 0 0", get, true},
		{"index", "6,1 0 0 4,0 0 0 6,12 0 0 0,29 0 0 0,21 0 0 10,22 0 0 0", get, true},
		{"division by 0", "4,1 0 0 0,0 0 0 6,60 0 0 0,6 0 0 1", get, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			assert.Equal(t, row.want, hits(t, `-m bpf --bytecode "`+row.program+`"`, row.packet))
		})
	}
}

// TestMatchesNeverGuessBytes has rules that look at what the packet does not say.
func TestMatchesNeverGuessBytes(t *testing.T) {
	const plain = "udp 10.244.0.11:1 > 10.244.0.12:2 in veth1"
	for condition, packet := range map[string]string{
		`-m u32 --u32 "4>>16=0"`:                                   plain,             // the identification
		`-m u32 --u32 "4&0x7fff=0"`:                                plain,             // whether it may be cut
		`-m u32 --u32 "0>>22&0x3c@12>>26&0x3c@0=1"`:                tcpHTTP,           // the length of the options
		`-m u32 --u32 "28=1"`:                                      plain + " len 40", // the payload
		"-m string --algo bm --string GET":                         plain,             // the payload
		`-m bpf --bytecode "3,40 0 0 4,21 0 0 1,6 0 0 1"`:          plain,             // the identification
		`-m bpf --bytecode "2,40 0 0 10,22 0 0 0"`:                 plain,             // the checksum
		`-m bpf --bytecode "2,32 0 0 4294963236,6 0 0 1"`:          plain,             // the processor
		`-m bpf --bytecode "4,48 0 0 26,7 0 0 0,80 0 0 0,6 0 0 1"`: plain,             // a place that depends on the checksum
	} {
		_, err := forwardHost(t, condition).Walk(parse(t, packet))
		if assert.Error(t, err, condition) {
			assert.Regexp(t, `not |add "payload`, err.Error(), condition)
		}
	}
}

func TestOptionsWrittenOverStayInTheHeader(t *testing.T) {
	h, _ := testNode{rules4: "*mangle\n-A FORWARD -p tcp -j TCPOPTSTRIP --strip-options 2\nCOMMIT\n" +
		"*filter\n-A FORWARD -m u32 --u32 \"0>>22&0x3c@12>>28=6\" -j DROP\nCOMMIT\n"}.build(t)
	const packet = "tcp 10.244.0.11:1 > 10.244.0.12:80 in veth1 seq 1"
	assert.Equal(t, Drop, walkOne(t, h, packet+" mss 1460").Verdict)
	assert.Equal(t, Accept, walkOne(t, h, packet).Verdict)
}

package nftables

import (
	"encoding/binary"
	"fmt"
	"testing"
	"time"

	"k8s.io/utils/clock"

	"github.com/chainwalk/chainwalk/netfilter/nftables/expr"
)

// endpointsOfService is how many endpoints each service of the benchmarks has.
const endpointsOfService = 5

func benchKernel() *Kernel {
	var turn uint64
	return New(clock.RealClock{}, func() uint64 { turn++; return turn })
}

// proxyStart are the tables, base chains and maps of a proxy for services.
func proxyStart() []Change {
	filter := func(name string, hook uint32) Change {
		return &AddChain{Family: IPv4, Table: "p", Chain: ChainSpec{Name: name, Hooking: &Hooking{Type: "nat", Hook: hook, Priority: -100}}}
	}
	key := &expr.Payload{Base: expr.NetworkHeader, Offset: 16, Len: 4, Dreg: 1}
	return []Change{
		&AddTable{TableSpec: TableSpec{Family: IPv4, Name: "p"}},
		filter("pre", 0), filter("out", 3),
		&AddChain{Family: IPv4, Table: "p", Chain: ChainSpec{Name: "services"}},
		&AddSet{Family: IPv4, Table: "p", Set: SetSpec{Name: "service-ips", Flags: SetMap, KeyLen: 12, DataType: DataVerdict}},
		jumpRule("pre", "services"), jumpRule("out", "services"),
		&AddRule{Family: IPv4, Table: "p", Chain: "services", Exprs: []expr.Expr{key, &expr.Lookup{Sreg: 1, Set: "service-ips", Map: true}}},
	}
}

func jumpRule(from, to string) Change {
	return &AddRule{Family: IPv4, Table: "p", Chain: from, Exprs: []expr.Expr{
		&expr.Immediate{Data: expr.Data{Verdict: &expr.Verdict{Code: expr.Jump, Chain: to}}}}}
}

func serviceKey(n int) []byte {
	key := make([]byte, 12)
	binary.BigEndian.PutUint32(key, uint32(0xac1e0000+n))
	key[4], key[9] = 6, 80
	return key
}

// proxyService are the chains, rules and elements of one service.
func proxyService(n int) []Change {
	service := fmt.Sprintf("service-%08d-ns/svc/tcp/http", n)
	changes := []Change{
		&AddChain{Family: IPv4, Table: "p", Chain: ChainSpec{Name: service}}, &DeleteRule{Family: IPv4, Table: "p", Chain: service},
	}
	id := uint32(n + 1)
	elements := make([]ElementSpec, endpointsOfService)
	for i := range elements {
		endpoint := fmt.Sprintf("endpoint-%08d-ns/svc/tcp/http__10.0.%d.1/80", n, i)
		changes = append(changes, &AddChain{Family: IPv4, Table: "p", Chain: ChainSpec{Name: endpoint}},
			&DeleteRule{Family: IPv4, Table: "p", Chain: endpoint},
			&AddRule{Family: IPv4, Table: "p", Chain: endpoint, Exprs: []expr.Expr{
				&expr.Immediate{Dreg: 1, Data: expr.Data{Bytes: []byte{10, 0, byte(i), 1}}},
				&expr.NAT{Family: 2, AddrMin: 1}}})
		elements[i] = ElementSpec{Key: []byte{byte(i), 0, 0, 0}, Data: &expr.Data{Verdict: &expr.Verdict{Code: expr.Goto, Chain: endpoint}}}
	}
	return append(changes,
		&AddSet{Family: IPv4, Table: "p", Set: SetSpec{Name: "__map%d", ID: id, Flags: SetMap | SetAnonymous | SetConstant, KeyLen: 4,
			DataType: DataVerdict, Size: endpointsOfService}},
		&AddElements{Family: IPv4, Table: "p", Set: "__map%d", SetID: id, Elements: elements},
		&AddRule{Family: IPv4, Table: "p", Chain: service, Exprs: []expr.Expr{
			&expr.Numgen{Random: true, Modulus: endpointsOfService, Dreg: 1}, &expr.Lookup{Sreg: 1, Set: "__map%d", SetID: id, Map: true}}},
		&AddElements{Family: IPv4, Table: "p", Set: "service-ips", Elements: []ElementSpec{{Key: serviceKey(n),
			Data: &expr.Data{Verdict: &expr.Verdict{Code: expr.Goto, Chain: service}}}}})
}

func proxyOf(services int) []Change {
	changes := proxyStart()
	for n := range services {
		changes = append(changes, proxyService(n)...)
	}
	return changes
}

func BenchmarkCommitOfServices(b *testing.B) {
	for _, services := range []int{1000, 10000} {
		changes := proxyOf(services)
		b.Run(fmt.Sprint(services), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := benchKernel().Commit(changes); len(r) > 0 {
					b.Fatal(r)
				}
			}
		})
	}
}

func BenchmarkCommitOfOneService(b *testing.B) {
	for _, services := range []int{100, 10000} {
		k := benchKernel()
		k.Commit(proxyOf(services))
		one := proxyService(7)
		b.Run(fmt.Sprint(services), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if r := k.Commit(one); len(r) > 0 {
					b.Fatal(r)
				}
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	const size = 10000
	find := func(name string, spec SetSpec, elements []ElementSpec, keys [][]byte) {
		k := benchKernel()
		spec.Name = "s"
		if r := k.Commit([]Change{
			&AddTable{TableSpec: TableSpec{Family: IPv4, Name: "t"}}, &AddSet{Family: IPv4, Table: "t", Set: spec},
			&AddElements{Family: IPv4, Table: "t", Set: "s", Elements: elements},
		}); len(r) > 0 {
			b.Fatal(r)
		}
		set := k.State().Table(IPv4, "t").Set("s")
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if set.Find(keys[i], time.Time{}) == nil {
					b.Fatal("not found")
				}
				if i++; i == len(keys) {
					i = 0
				}
			}
		})
	}
	var hashed, ranges, boxes []ElementSpec
	var keys, rangeKeys, boxKeys [][]byte
	for n := range size {
		key := serviceKey(n * 7919 % size)
		hashed, keys = append(hashed, ElementSpec{Key: key}), append(keys, key)
		from, to := binary.BigEndian.AppendUint32(nil, uint32(n*16)), binary.BigEndian.AppendUint32(nil, uint32(n*16+8))
		ranges = append(ranges, ElementSpec{Key: from}, ElementSpec{Key: to, Flags: ElementIntervalEnd})
		rangeKeys = append(rangeKeys, binary.BigEndian.AppendUint32(nil, uint32(n*7919%size*16+3)))
		boxes = append(boxes, ElementSpec{Key: append(from, 0, 0, 0, 0), KeyEnd: append(to, 255, 0, 0, 0)})
		boxKeys = append(boxKeys, binary.BigEndian.AppendUint32(nil, uint32(n*7919%size*16+3)))
		boxKeys[n] = append(boxKeys[n], 7, 0, 0, 0)
	}
	find("hash", SetSpec{KeyLen: 12}, hashed, keys)
	find("intervals", SetSpec{KeyLen: 4, Flags: SetInterval}, ranges, rangeKeys)
	find("boxes", SetSpec{KeyLen: 8, Flags: SetInterval | SetConcat, FieldLens: []uint8{4, 1}}, boxes, boxKeys)
}

// BenchmarkAddBoxes adds so many elements to a concatenation with intervals, in three transactions. ns/element should hardly change.
func BenchmarkAddBoxes(b *testing.B) {
	for _, size := range []int{1000, 10000} {
		var elements []ElementSpec
		for n := range size {
			n = n * 7919 % size
			from, to := binary.BigEndian.AppendUint32(nil, uint32(n*16)), binary.BigEndian.AppendUint32(nil, uint32(n*16+8))
			elements = append(elements, ElementSpec{Key: append(from, 0, 0, 0, 0), KeyEnd: append(to, 255, 0, 0, 0)})
		}
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				k := benchKernel()
				start := []Change{
					&AddTable{TableSpec: TableSpec{Family: IPv4, Name: "t"}},
					&AddSet{Family: IPv4, Table: "t", Set: SetSpec{Name: "s", KeyLen: 8, Flags: SetInterval | SetConcat, FieldLens: []uint8{4, 1}}},
				}
				for _, part := range [...][]ElementSpec{elements[:size/2], elements[size/2 : size/2+1], elements[size/2+1:]} {
					if r := k.Commit(append(start, &AddElements{Family: IPv4, Table: "t", Set: "s", Elements: part})); len(r) > 0 {
						b.Fatal(r)
					}
					start = nil
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(size), "ns/element")
		})
	}
}

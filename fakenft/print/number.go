package print

// duration appends milliseconds as "1d2h3m4s5ms", or with -T as seconds. Nothing is nothing, as in nft.
func (p *values) duration(ms uint64) {
	if p.NumericTime {
		p.uint(ms / 1000)
		p.b = append(p.b, 's')
		return
	}
	for _, unit := range [...]struct {
		name string
		ms   uint64
	}{{"d", 86400000}, {"h", 3600000}, {"m", 60000}, {"s", 1000}, {"ms", 1}} {
		if ms >= unit.ms {
			p.uint(ms / unit.ms)
			p.str(unit.name)
			ms %= unit.ms
		}
	}
}

// byteUnits are the units of sizes, each 1024 of the one before.
var byteUnits = [...]string{"bytes", "kbytes", "mbytes"}

// inUnits is a size in the largest unit that it is a multiple of.
func inUnits(size uint64) (uint64, string) {
	unit := 0
	for size != 0 && size%1024 == 0 && unit < len(byteUnits)-1 {
		size /= 1024
		unit++
	}
	return size, byteUnits[unit]
}

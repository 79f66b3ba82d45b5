// Completion of the PACKET syntax (docs/packet.md).

const protocols = [["tcp"], ["udp"], ["sctp"], ["icmp"], ["icmpv6"]];
const words = [
  ["in", "the device that it comes by"], ["local", "the node itself sends it"], ["flags", "of TCP, such as SYN,ACK"], ["type", "of ICMP, T/C"],
  ["mark", "a number"], ["ttl", "a number"], ["len", "its length"], ["tos", "type of service"], ["df", "not to be cut into fragments"],
  ["mac", "the link-layer address that it came from"], ["socket", "uid=N,gid=N"], ["id", "of an ICMP query"],
];

/** packetCompletion completes from what known() has, now or soon: devices, addresses, ports, and names that stand for addresses. */
export function packetCompletion(known) {
  return async context => {
    const before = context.state.doc.sliceString(0, context.pos);
    const word = /\S*$/.exec(before)[0], from = context.pos - word.length;
    const done = before.slice(0, from).trim().split(/\s+/).filter(Boolean);
    const options = (list, type) => list.map(([label, detail]) => ({ label, detail, type }));
    if (!word && !context.explicit && done.length !== 0 && !/\s$/.test(before)) return null;
    if (done.length === 0) return { from, options: options(protocols, "keyword") };
    const icmp = /^icmp/.test(done[0]), place = done.indexOf(">");
    if (place < 0 && done.length === 2) return { from, options: [{ label: ">", detail: "to", type: "keyword" }] };
    const { devices = [], addresses = [], ports = [], names = [] } = await known();
    if (place < 0 && done.length === 1 || place >= 0 && done.length === place + 1) {
      const port = /^(\[[^\]]*\]|[\d.]+):(\d*)$/.exec(word);
      if (port) return { from: from + port[1].length + 1, options: (place < 0 ? [40000] : ports).map(p => ({ label: String(p), type: "constant" })) };
      const end = icmp ? "" : ":";
      return { from, options: [
        ...names.map(n => ({ label: n, type: "variable", boost: 1 })),
        ...addresses.map(a => ({ label: (icmp || !a.includes(":") ? a : "[" + a + "]") + end, type: "constant" })),
      ] };
    }
    if (done.at(-1) === "in") return { from, options: devices.map(d => ({ label: d, type: "variable" })) };
    return { from, options: options(words.filter(([w]) => !done.includes(w)), "keyword") };
  };
}

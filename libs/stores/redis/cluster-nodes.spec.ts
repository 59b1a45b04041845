import { claimsOf, primaryOf } from './cluster.adapter.js';

const lines = (...all: string[]): string => `${all.join('\n')}\n`;

describe('the list of nodes of a Redis Cluster', () => {
  it('has the address, the epoch and the slots of each', () => {
    const said = lines(
      'a1 127.0.0.1:7000@17000 myself,master - 0 1700000000000 1 connected 0-5460 5462',
      'b2 127.0.0.1:7001@17001 master - 0 1700000000000 7 connected 5461 5463-16383',
      'c3 127.0.0.1:7002@17002 slave a1 0 1700000000000 1 connected',
    );
    expect(claimsOf(said, 'asked')).toEqual([
      {
        host: '127.0.0.1',
        port: 7000,
        epoch: 1,
        slots: [
          [0, 5460],
          [5462, 5462],
        ],
      },
      {
        host: '127.0.0.1',
        port: 7001,
        epoch: 7,
        slots: [
          [5461, 5461],
          [5463, 16_383],
        ],
      },
      { host: '127.0.0.1', port: 7002, epoch: 1, slots: [] },
    ]);
  });

  it('prefers a name, knows IPv6, and takes the host that was asked where a node has none', () => {
    const said = lines(
      'a1 10.0.0.1:7000@17000,node-1.example,shard-id=77 master - 0 0 1 connected 0-1',
      'b2 fd00::2:7001@17001 master - 0 0 2 connected 2',
      'c3 :7002@17002 myself,master - 0 0 3 connected 3',
    );
    expect(claimsOf(said, 'asked').map(({ host, port }) => [host, port])).toEqual([
      ['node-1.example', 7000],
      ['fd00::2', 7001],
      ['asked', 7002],
    ]);
  });

  it('leaves out nodes that have failed, and slots that are only on their way', () => {
    const said = lines(
      'a1 127.0.0.1:7000@17000 master,fail - 0 0 1 disconnected 0-5460',
      'b2 127.0.0.1:7001@17001 master,fail? - 0 0 2 connected 5461-9999 [10000->-c3] [77-<-a1]',
      'd4 :0@0 master,noaddr - 0 0 4 disconnected 12',
    );
    expect(claimsOf(said, 'asked')).toEqual([{ host: '127.0.0.1', port: 7001, epoch: 2, slots: [[5461, 9999]] }]);
  });
});

describe('the primary of a slot', () => {
  const claim = (port: number, epoch: number, slots: [number, number][]): ReturnType<typeof claimsOf>[number] => ({
    host: 'node',
    port,
    epoch,
    slots,
  });

  it('is the one of the latest claim, whoever was asked first', () => {
    const [old, fresh] = [claim(7000, 1, [[0, 99]]), claim(7003, 8, [[0, 99]])];
    const other = claim(7001, 9, [[100, 199]]);
    expect([primaryOf([old, fresh, other], 42), primaryOf([other, fresh, old], 42)]).toEqual([fresh, fresh]);
  });

  it('is nobody where no claim has the slot', () => {
    expect(primaryOf([claim(7000, 1, [[0, 41]]), claim(7001, 1, [[43, 99]])], 42)).toBeUndefined();
  });
});

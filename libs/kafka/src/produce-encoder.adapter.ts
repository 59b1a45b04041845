import { kafkajsModule } from './kafkajs-module.adapter.js';
import { isPlain, produceBytes, type UnencodedProduce } from './produce-bytes.js';

/** The parts of an encoder that kafkajs makes requests of: it copies `buffer` and checks that `buf` is a Buffer. */
interface Encoded {
  readonly buf: Buffer;
  readonly buffer: Buffer;
}

type Produce = (request: UnencodedProduce) => { encode: () => Promise<Encoded> };

// kafkajs 2.2.4 allocates 512 bytes for each record and each header, and a buffer for each number; then it copies the records eight
// times, most times through buffers that double. This writes the same bytes (a spec compares them) at once, and kafkajs copies
// them twice. kafkajs takes the request from the module cache with its first produce request, so loading this with `connectKafka`
// is early enough; loaded later, it would have no effect.
const produce = kafkajsModule('protocol/requests/produce/v3/request');
if (produce !== undefined) {
  const kafkajs = produce.exports as Produce;
  produce.exports = (request: UnencodedProduce): ReturnType<Produce> => {
    if (!isPlain(request)) return kafkajs(request);
    const encode = async (): Promise<Encoded> => {
      const bytes = produceBytes(request, Date.now());
      return { buf: bytes, buffer: bytes };
    };
    return { ...kafkajs(request), encode };
  };
}

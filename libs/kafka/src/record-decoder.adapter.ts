import { decodedRecord } from './decoded-record.js';
import { kafkajsModule } from './kafkajs-module.adapter.js';

// kafkajs 2.2.4 copies all headers of a record for each header, and counts with BigInt: a record with eight headers costs 11 µs
// to read. This reads the same (a spec compares them) in 2 µs. kafkajs takes its decoder from the module cache with its first
// fetch, so loading this with `connectKafka` is early enough; loaded later, it would have no effect.
const decoder = kafkajsModule('protocol/recordBatch/record/v0/decoder');
if (decoder !== undefined) decoder.exports = decodedRecord;

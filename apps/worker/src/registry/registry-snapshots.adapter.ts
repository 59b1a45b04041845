import { Inject, Injectable } from '@nestjs/common';
import { RegistryCompaction, RegistryLog, RegistryView } from '@relay/registry';
import { Log } from '@relay/telemetry';
import { Redis } from 'ioredis';

/** The lib's compaction, with a constructor that Nest can inject. */
@Injectable()
export class RegistrySnapshots extends RegistryCompaction {
  constructor(redis: Redis, @Inject(RegistryLog) log: RegistryLog, view: RegistryView, @Inject(Log) ownLog: Log) {
    super(redis, log, view, ownLog);
  }
}

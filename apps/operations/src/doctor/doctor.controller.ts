import { Controller, Get } from '@nestjs/common';
import { Access } from '@relay/http';
import { Operation } from '@relay/openapi';
import type { z } from 'zod';
import type { Findings } from './doctor-answers.js';
import { readFindings } from './doctor.openapi.js';
import { Examination } from './examination.adapter.js';

/** What an examination of the stores and the keys finds. */
@Controller('doctor')
@Access({ kind: 'operator', role: 'viewer' })
export class DoctorController {
  constructor(private readonly examination: Examination) {}

  @Get()
  @Operation(readFindings)
  read(): Promise<z.infer<typeof Findings>> {
    return this.examination.read();
  }
}

import { beforeEach } from 'vitest';
import { setDeadline } from '../../../lib/runtime/deadline.ts';

// The deadline is module state, which a test file shares with those that ran before it in its
// worker.
beforeEach(() => setDeadline(Number.POSITIVE_INFINITY));

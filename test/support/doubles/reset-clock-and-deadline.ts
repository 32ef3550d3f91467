import { afterEach, beforeEach, vi } from 'vitest';
import { setDeadline } from '../../../lib/runtime/deadline.ts';

// Both are shared with the other tests that run in the same worker.
beforeEach(() => setDeadline(Number.POSITIVE_INFINITY));
afterEach(() => void vi.useRealTimers());

/*
 * Replaces the event streams of the SDK (for Kinesis and S3 Select). An own module, because the SDK loads it dynamically:
 * esbuild wraps whatever such a module imports into functions, which would be 5 KB of each bundle.
 */
export {};

/*
 * Replaces the event streams of the SDK (for Kinesis and S3 Select). A module of its own, because
 * the SDK imports it dynamically: esbuild wraps everything that such a module imports in functions,
 * which would be 5 KB of each bundle.
 */
export {};

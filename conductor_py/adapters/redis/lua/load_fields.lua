-- PURPOSE    Read fields of one execution as of one version, pointers followed.
-- KEYS       prefix of the partition's keys (every key used is it and a name of keys.py)
-- ARGV       id, reads
-- RETURNS    {version, {name, value | false, …}}, or false when the execution is gone
-- INVARIANT  Writes nothing.
-- BOUND      The number of reads; 64 MB: what is left then is left out. The first value comes, whatever its size.
-- @include record
-- @include read
local key = KEYS[1] .. 'exec:' .. ARGV[1]
local present = redis.call('HMGET', key, 'v', 'h')
if not present[1] then
  return false
end
local reader = new_reader(key, header_int(present[2] or '', 'first_seq'), 67108864, true)
local reads = {}
for i = 2, #ARGV do
  reads[#reads + 1] = ARGV[i]
end
fetch_reads(reader, {}, reads)
return {read_record(present[1]).version, reader.out}

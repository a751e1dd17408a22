-- Reads of one execution: plain fields, and pointers that are followed. Each field once, within a budget of bytes.
-- A reader holds the key, the first attempt that exists, the room left, what was read, and where it goes.
local function new_reader(key, first_seq, room, first)
  return {key = key, first_seq = first_seq, room = room, first = first, found = {}, out = {}}
end

-- Takes the fields `from` to `upto` of these that fit; pointers below the first attempt that exists read as absent.
-- Returns the bytes that were looked at.
local function take_fields(reader, names, from, upto)
  local found, out, size = reader.found, reader.out, 0
  local values = redis.call('HMGET', reader.key, unpack(names, from, upto))
  for i = from, upto do
    local name, value = names[i], values[i - from + 1]
    if found[name] == nil then
      if value and string.sub(name, 1, 2) == 'r:' and tonumber(value) < reader.first_seq then
        value = false
      end
      local bytes = value and #value or 0
      size = size + bytes
      if bytes <= reader.room or reader.first then
        reader.room, found[name] = math.max(reader.room - bytes, 0), value
        reader.first = reader.first and not value
        local n = #out
        out[n + 1], out[n + 2] = name, value
      end
    end
  end
  return size
end

-- Fetches fields by name, but for what does not fit. Once some have been large, payloads are measured before, so that
-- Redis does not copy much that nobody gets.
local function fetch_fields(reader, names)
  local large = false
  for from = 1, #names, 64 do
    local upto = math.min(from + 63, #names)
    if large then
      for i = from, upto do
        local small = reader.first or string.find(names[i], '^[acrjdgws]:')
        if small or redis.call('HSTRLEN', reader.key, names[i]) <= reader.room then
          take_fields(reader, names, i, i)
        end
      end
    else
      large = take_fields(reader, names, from, upto) > 262144
    end
  end
end

-- Fetches `names` and reads, "<field>" or "><kinds> <pointer field>"; `names` is used up.
local function fetch_reads(reader, names, reads)
  local follow
  for _, read in ipairs(reads) do
    if string.byte(read) == 62 then
      local gap = string.find(read, ' ', 1, true)
      local pointer = string.sub(read, gap + 1)
      names[#names + 1] = pointer
      follow = follow or {}
      follow[#follow + 1], follow[#follow + 2] = string.sub(read, 2, gap - 1), pointer
    else
      names[#names + 1] = read
    end
  end
  fetch_fields(reader, names)
  if follow then
    local found, pointed = reader.found, {}
    for i = 1, #follow, 2 do
      local seq = found[follow[i + 1]]
      if seq then
        for at = 1, #follow[i] do
          pointed[#pointed + 1] = string.sub(follow[i], at, at) .. ':' .. seq
        end
      end
    end
    if #pointed > 0 then
      fetch_fields(reader, pointed)
    end
  end
end

-- "#*<n>" at the end of a name stands for the first n components of the iteration vector.
local function expand_vector(name, vector)
  local at = string.find(name, '#*', 1, true)
  local n = at and tonumber(string.match(name, '^%d+$', at + 2))
  if not n then
    return name
  end
  local parts = {}
  for part in string.gmatch(vector, '[^.]+') do
    if #parts == n then
      break
    end
    parts[#parts + 1] = part
  end
  local stem = string.sub(name, 1, at - 1)
  return #parts == 0 and stem or stem .. '#' .. table.concat(parts, '.')
end
